#!/usr/bin/env python3
"""Turns the built files of the front end (web/dist) into a C source for the program: no Node is needed.

    web/embed.py DIST OUTPUT.c

A file FILE with FILE.br beside it is served in that form, too; gzip is made here. Files that must be there: one
app-*.js, in-*.js, app-*.css and icon-*.svg.
"""
import gzip
import hashlib
import pathlib
import sys

TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
NAMED = {"asset_style": "app-*.css", "asset_app": "app-*.js", "asset_sign_in": "in-*.js", "asset_icon": "icon-*.svg"}


def array(name, data):
    lines = [", ".join(str(byte) for byte in data[i:i + 32]) for i in range(0, len(data), 32)]
    return f"static const unsigned char {name}[] = {{\n" + ",\n".join(lines) + "};\n"


def one(pattern, dist):
    found = sorted(dist.glob("assets/" + pattern))
    if len(found) != 1:
        sys.exit(f"embed.py: want one file {dist}/assets/{pattern}, found {len(found)}")
    return "/assets/" + found[0].name


def main():
    dist, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    parts = ['/* made by web/embed.py from web/dist */\n#include "page/assets.h"\n']
    rows = []
    for i, path in enumerate(sorted(p for p in dist.glob("assets/*") if p.suffix in TYPES)):
        plain = path.read_bytes()
        brotli = path.with_name(path.name + ".br")
        forms = {"plain": plain, "gzip": gzip.compress(plain, 9, mtime=0),
                 "brotli": brotli.read_bytes() if brotli.exists() else b""}
        row = [f'.path = "/assets/{path.name}"', f'.content_type = "{TYPES[path.suffix]}"',
               f'.etag = "\\"{hashlib.sha256(plain).hexdigest()[:16]}\\""']
        for form, data in forms.items():
            if not data:
                continue
            parts.append(array(f"{form}_{i}", data))
            row.append(f".{form} = {{(const char *){form}_{i}, sizeof({form}_{i})}}")
        rows.append("    {" + ", ".join(row) + "},\n")
    parts.append("const struct asset assets[] = {\n" + "".join(rows) + "};\n")
    parts.append(f"const size_t assets_count = {len(rows)};\n")
    parts += [f'const char *const {name} = "{one(pattern, dist)}";\n' for name, pattern in NAMED.items()]
    output.write_text("".join(parts), encoding="utf-8")


main()
