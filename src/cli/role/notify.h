/* notify.h - telling a service manager how we are, sd_notify(3) (notify_linux.c) */
#pragma once

/* "READY=1", "STOPPING=1". Does nothing where nobody asked to be told ($NOTIFY_SOCKET). */
void notify_manager(const char *state);
