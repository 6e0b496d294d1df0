// Makes `dist` of `ts`, whose folders `core` and `full` hold the wasm that `cargo xtask js` has built.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";

process.chdir(import.meta.dirname);
const wasm = gzipSync(readFileSync("ts/full/samovar_js_bg.wasm"), { level: 9 }).toString("base64");
writeFileSync("ts/full/wasm.js", `export const wasm = "${wasm}";\n`);
writeFileSync("ts/full/wasm.d.ts", "export declare const wasm: string;\n");
rmSync("dist", { recursive: true, force: true });
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--project", "."], { stdio: "inherit" });
const shared = { absWorkingDir: process.cwd(), minify: true, target: "es2022", logLevel: "warning" };
const modules = readdirSync("ts").filter((file) => file.endsWith(".ts"));
buildSync({ ...shared, entryPoints: modules.map((file) => `ts/${file}`), outdir: "dist", sourcemap: true });
for (const core of ["core", "full"]) {
  mkdirSync(`dist/${core}`, { recursive: true });
  buildSync({ ...shared, entryPoints: [`ts/${core}/samovar_js.js`], outdir: `dist/${core}` });
  for (const file of ["samovar_js.d.ts", "samovar_js_bg.wasm"])
    copyFileSync(`ts/${core}/${file}`, `dist/${core}/${file}`);
}
copyFileSync("ts/full/wasm.js", "dist/full/wasm.js");
