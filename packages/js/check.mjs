// Checks that the packages have the version of the crates and are written as prettier writes them, and the TypeScript
// of the guide and of the READMEs: each block is a module that strict TypeScript takes.

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, parse } from "node:path";

process.chdir(import.meta.dirname);
const version = /^version = "(.*)"$/m.exec(readFileSync("../../Cargo.toml", "utf8"))[1];
for (const name of ["js", "relay", "create"]) {
  const manifest = JSON.parse(readFileSync(`../${name}/package.json`, "utf8"));
  const versions = [manifest.version, ...Object.values(manifest.optionalDependencies ?? {})];
  if (versions.some((other) => other !== version))
    throw new Error(`packages/${name} is not of version ${version}`);
}
const template = JSON.parse(readFileSync("../create/templates/common/package.json", "utf8"));
for (const wanted of [template.dependencies.samovar, template.devDependencies["samovar-relay"]]) {
  if (wanted !== `^${version}`) throw new Error(`the templates want ${wanted} and not ^${version}`);
}
const prettier = ["node_modules/prettier/bin/prettier.cjs", "--check", "--log-level", "warn"];
const written = [
  "ts/*.ts",
  "tests/*.{js,ts}",
  "*.mjs",
  "../relay/{.,tests}/*.{js,ts}",
  "../create/index.js",
  "../create/templates/*/src/*.{ts,css}",
];
execFileSync(process.execPath, [...prettier, ...written], { stdio: "inherit" });
// The codes of errors in TypeScript are those that its face and the core give. These, only a native program gets.
const native = ["BadRaw", "NoDirectPaths", "NoThread", "SeatFile", "Usage"];
const found = (files, pattern) => files.flatMap((file) => [...readFileSync(file, "utf8").matchAll(pattern)]);
const faces = readdirSync("ts")
  .filter((file) => file.endsWith(".ts"))
  .map((file) => join("ts", file));
const given = [
  ...found(["../../crates/samovar/src/error.rs"], /^ +Self::\w+(?:\(\.\.\))? => "([A-Z]\w+)",$/gm),
  ...found(faces, /SamovarError\(\s*"(\w+)"/g),
].map(([, code]) => code);
const declared = found(["ts/error.ts"], /^ {2}\| "(\w+)"/gm).map(([, code]) => code);
const tableIn = (file, row) =>
  found([file], row).flatMap(([, cell]) => [...cell.matchAll(/`([A-Z][a-z]\w+)`/g)].map(([, code]) => code));
const wanted = new Set(given.filter((code) => !native.includes(code)));
for (const [what, codes] of [
  ["ErrorCode", declared],
  ["the table of its comment", tableIn("ts/error.ts", /^ \* \|(.*)\|.*\|$/gm)],
  ["the guide", tableIn("../../crates/samovar/guide/typescript.md", /^\|.*\|(.*)\|$/gm)],
]) {
  const missing = [...wanted].filter((code) => !codes.includes(code));
  const unknown = codes.filter((code) => !wanted.has(code));
  if (missing.length + unknown.length > 0)
    throw new Error(`${what} lacks the codes [${missing.join()}], and no error has its [${unknown.join()}]`);
}
const guide = "../../crates/samovar/guide";
const documents = readdirSync(guide)
  .filter((file) => file.endsWith(".md"))
  .map((file) => join(guide, file));
const folder = "../../target/docs-ts";
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
let count = 0;
for (const document of [...documents, "README.md", "../relay/README.md"]) {
  const blocks = readFileSync(document, "utf8").matchAll(/^```ts\n(.*?)^```$/gms);
  for (const [, block] of blocks) {
    const text = block.includes("import ")
      ? block
      : `import * as samovar from "samovar";\nconst { room } = samovar;\n${block}`;
    writeFileSync(join(folder, `${parse(document).name}-${++count}.ts`), `${text}\nexport {};\n`);
  }
}
copyFileSync("tests/types.ts", join(folder, "types.ts"));
const settings = {
  compilerOptions: {
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2022", "dom", "dom.iterable"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    types: [],
    paths: { samovar: [join(process.cwd(), "dist/index.d.ts")] },
  },
  include: ["*.ts"],
};
writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
execFileSync(process.execPath, ["node_modules/typescript/bin/tsc", "--project", folder], {
  stdio: "inherit",
});
console.log(`Strict TypeScript takes all ${count} programs of the documents.`);
