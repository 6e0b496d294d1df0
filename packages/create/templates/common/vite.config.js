import samovar from "samovar-relay/vite";
import { defineConfig } from "vite";

export default defineConfig({
  // `base` lets the page lie in any folder of a server.
  base: "./",
  build: { target: "es2022" },
  plugins: [samovar()],
});
