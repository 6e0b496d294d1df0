#!/usr/bin/env node
// `npm create samovar my-game`: a game of Vite and TypeScript in a new folder.

import { spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";

const templates = join(import.meta.dirname, "templates");
const games = readdirSync(templates).filter((name) => name !== "common");
const usage = `Usage: npm create samovar FOLDER [-- OPTIONS]

Options:
  --template NAME   one of ${games.join(", ")}; cursors unless told
  --no-install      does not install the packages
  --packages DIR    takes Samovar's packages from the .tgz files in this folder
  --help            prints this text`;

function fail(text) {
  console.error(`create-samovar: ${text}`);
  process.exit(1);
}

function read() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        template: { type: "string", default: "cursors" },
        "no-install": { type: "boolean", default: false },
        packages: { type: "string" },
        help: { type: "boolean", default: false },
      },
    });
  } catch ({ message }) {
    return fail(`${message}\n\n${usage}`);
  }
}

const { positionals, values } = read();
if (values.help || positionals.length !== 1) {
  console.log(usage);
  process.exit(values.help ? 0 : 1);
}
const [folder] = positionals;
const target = resolve(folder);
const name =
  basename(target)
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, "-")
    .replace(/^-+|-+$/g, "") || "my-game";
if (!games.includes(values.template)) fail(`there is no template ${values.template}: ${games.join(", ")}`);
if (existsSync(target) && !statSync(target).isDirectory()) fail(`${folder} is a file: name a new folder`);
const has = existsSync(target) ? readdirSync(target).filter((file) => file !== ".git") : [];
if (has.length > 0) fail(`${folder} is not empty: name a new folder`);

mkdirSync(target, { recursive: true });
for (const part of [values.template, "common"]) cpSync(join(templates, part), target, { recursive: true });
// npm leaves a file of this name out of packages.
renameSync(join(target, "_gitignore"), join(target, ".gitignore"));
const manifest = JSON.parse(readFileSync(join(target, "package.json"), "utf8"));
// A template names the packages that it needs besides those of all.
const more = join(templates, values.template, "package.json");
if (existsSync(more))
  Object.assign(manifest.dependencies, JSON.parse(readFileSync(more, "utf8")).dependencies);
if (values.packages !== undefined) {
  const folder = resolve(values.packages);
  const found = readdirSync(folder).filter((file) => file.endsWith(".tgz"));
  const file = (name) => {
    const known = found.find((file) => /^(.*)-\d+\.\d+\.\d+.*\.tgz$/.exec(file)?.[1] === name);
    return known ? `file:${join(folder, known)}` : fail(`${folder} has no package ${name}`);
  };
  manifest.dependencies.samovar = file("samovar");
  manifest.devDependencies["samovar-relay"] = file("samovar-relay");
  const program = `samovar-relay-${process.platform}-${process.arch}`;
  manifest.devDependencies[program] = file(program);
}
writeFileSync(join(target, "package.json"), `${JSON.stringify({ name, ...manifest }, null, 2)}\n`);

if (!values["no-install"]) {
  console.log(`Installing the packages of ${name} …`);
  const install = ["install", "--no-audit", "--no-fund", "--loglevel=error"];
  // On Windows npm is a script that only a shell starts.
  const shell = process.platform === "win32";
  const installed = spawnSync("npm", install, { cwd: target, stdio: "inherit", shell });
  if (installed.status !== 0) fail(`npm install failed in ${folder}; run it there again`);
}
const machine = `${process.platform}-${process.arch}`;
if (machine !== "linux-x64") {
  console.log(
    `\nThere is no relay for ${machine} yet: build one from source, and name it in SAMOVAR_RELAY_BIN.`,
  );
}
console.log(`
${name} is ready. Start it, and open its address in two tabs:

  cd ${folder}${values["no-install"] ? "\n  npm install" : ""}
  npm run dev
`);
