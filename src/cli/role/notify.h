/* notify.h - messages to a service manager, sd_notify(3) (notify_linux.c) */
#pragma once

/* Sends "READY=1", "STOPPING=1". Does nothing without $NOTIFY_SOCKET. */
void notify_manager(const char *state);
