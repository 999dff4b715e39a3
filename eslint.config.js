import js from "@eslint/js";
import globals from "globals";

const page = "src/rankloom/server/static/js/**/*.js";

export default [
  { ignores: ["**/.venv/", "**/build/", "**/dist/", "test-artifacts/"] },
  js.configs.recommended,
  {
    rules: {
      eqeqeq: "error",
      "max-len": ["error", { code: 110 }],
      "max-lines-per-function": ["error", { max: 60 }],
      "no-undef": "error",
      "no-unused-vars": "error",
      "prefer-const": "error",
    },
  },
  { files: [page], languageOptions: { globals: globals.browser } },
  { files: ["tests/server/js/**/*.js"], languageOptions: { globals: globals.node } },
];
