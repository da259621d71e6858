// The build of the front end: hashed files in dist/assets, each with its brotli form, and dist/files.txt with the hash of each. `mete` carries them.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants } from "node:zlib";
import { defineConfig } from "vite";

const finish = {
  name: "finish",
  closeBundle() {
    const lines = [];
    for (const name of readdirSync("dist/assets").sort()) {
      const path = `dist/assets/${name}`;
      const bytes = readFileSync(path);
      lines.push(`${createHash("sha256").update(bytes).digest("hex")}  assets/${name}\n`);
      writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
    }
    writeFileSync("dist/files.txt", lines.join(""));
  },
};

export default defineConfig({
  plugins: [finish],
  esbuild: { jsx: "automatic", jsxImportSource: "preact", legalComments: "none" },
  build: {
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: false,
    target: "es2022",
    rollupOptions: {
      input: { app: "src/app.tsx", in: "src/in.ts" },
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: (file) => `assets/${file.names[0] === "style.css" ? "app" : "[name]"}-[hash][extname]`,
      },
    },
  },
});
