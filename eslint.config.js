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
  {
    files: [page],
    rules: {
      // What server/bundle.py can join.
      "no-restricted-syntax": ["error", ...[
        "ImportDefaultSpecifier", "ImportNamespaceSpecifier", "ImportExpression", "ExportAllDeclaration",
        "ExportDefaultDeclaration", "ExportSpecifier", "ImportDeclaration[specifiers.length=0]",
        "ExportNamedDeclaration > VariableDeclaration[kind!=const]",
        "ExportNamedDeclaration > VariableDeclaration[declarations.length!=1]",
        "ExportNamedDeclaration > VariableDeclaration > VariableDeclarator[id.type!=Identifier]",
      ].map((selector) => ({ selector, message: "server/bundle.py does not know this form" }))],
    },
  },
  { files: ["tests/server/js/**/*.js"], languageOptions: { globals: globals.node } },
];
