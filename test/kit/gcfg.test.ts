// What the parser of the Go managers' files reports about a single word, which may be the secret of the previous line.

import { expect, test } from "bun:test";
import { readGcfg, secret, text } from "../../src/index.ts";

const options = {
  sections: { Global: { password: secret("The password."), region: text("The region.") } },
  records: [{ section: "Zone", setting: "zones", entry: { name: text("Its name.") } }],
  nameOf: (key: string) => key,
  example: "region = north",
};

function problemsIn(lines: readonly string[], isLenient: boolean): readonly string[] {
  const { problems } = readGcfg(lines.join("\n"), {
    ...options,
    ...(isLenient && { ignoresUnknown: true as const }),
  });
  return problems.map(({ line, severity, text }) => `${line} ${severity}: ${text}`);
}

const lines = ["s3cret", "[Global]", "password", "s3cret", '[Zone "a"]', "s3cret", "region"];
const example = "expected a line such as region = north";

test("a message shows a word without = only if it is a known key", () => {
  expect(problemsIn(lines, false)).toEqual([
    "1 error: a word without a value must be in a section such as [Global]",
    `3 error: password has no value; ${example}`,
    `4 error: a word without a value has no value; ${example}`,
    `6 error: a word without a value has no value; ${example}`,
    `7 error: region has no value; ${example}`,
  ]);
});

test("a message shows a word without = only if it is a known key, even if the Go manager ignores other keys", () => {
  expect(problemsIn([...lines, "nam"], true)).toEqual([
    "1 error: a word without a value must be in a section such as [Global]",
    `3 error: password has no value; ${example}`,
    "4 warning: a word without a value in [Global] is not a known setting, so it has no effect",
    '6 warning: a word without a value in [Zone "a"] is not a known setting, so it has no effect',
    '7 error: region in [Zone "a"] has no effect, because it belongs in [Global]',
    '8 error: a word without a value in [Zone "a"] is not a known setting, so it has no effect; did you mean "name"?',
  ]);
});

const ok = { password: "a", region: "b c" };

test.each([
  ["a section with 250,000 tabs", `[Global${"\t".repeat(250_000)}x`],
  ["a key with 250,000 spaces", `[Global]\npassword${" ".repeat(250_000)}x\u2028`],
  ["60,000 continued lines", `[Global]\npassword = ${"abc\\\n".repeat(60_000)}`],
])("reads %s without trying all ways to split it", (_, text) => {
  const valid = '\n[Global]\npassword = a\nregion = "b \\\nc"';
  const { settings } = readGcfg(text + valid, options);
  expect(Object.fromEntries(Object.entries(settings).map(([name, one]) => [name, Object(one).text]))).toEqual(
    ok,
  );
});

test("continues a line as long as it ends with a backslash", () => {
  const { settings } = readGcfg("[Global]\nregion = a\\\n\\\nb\npassword = c\\\n", options);
  expect([settings["region"], settings["password"]]).toEqual([
    { text: "ab", line: 2, title: "region in [Global]" },
    { text: "c", line: 5, title: "password in [Global]" },
  ]);
});

test("does not show the last line of a wrapped secret, which ends in =", () => {
  for (const last of ["czNjcmV0cGFzc3dvcmQ=", "czNjcmV0cGFzc3dvcg=="]) {
    const found = [true, false].map((isLenient) =>
      problemsIn(["[Global]", "password = abc", last], isLenient).join(),
    );
    expect(found.join()).toContain("a word without a value");
    expect(found.join()).not.toContain("czNjcmV0");
  }
});
