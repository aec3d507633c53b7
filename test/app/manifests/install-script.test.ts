import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { installScript } from "../../../src/app/manifests/install-script.ts";

// The script that `manifests --as systemd` prints, run with sh below another folder.

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "fairlead-install-"));
});
afterEach(() => rmSync(root, { recursive: true }));

const options = {
  program: "acme-cloud-controller-manager",
  cluster: "prod",
  args: ["--cluster-cidr=10.0.0.0/16", "--v=2"],
  variables: [{ name: "ACME_ZONE", value: 'a "b" $HOME `id` \\' }],
  credentials: [
    { setting: "token", variable: "ACME_TOKEN", text: "The token.", value: "x'y $(id) %i" },
    { setting: "password", variable: "ACME_PASSWORD", text: "The password.", value: undefined },
  ],
};

const install = (script: string) => {
  const { exitCode, stdout, stderr } = Bun.spawnSync(["sh"], {
    stdin: Buffer.from(script),
    env: { PATH: process.env["PATH"] ?? "", DESTDIR: root },
  });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return stdout.toString();
};
const content = (path: string): string => readFileSync(join(root, path), "utf8");
const mode = (path: string): number => statSync(join(root, path)).mode & 0o777;

test("the systemd script writes the unit, the flags and the given credentials for one cluster [S7 F96]", () => {
  const output = install(installScript(options));
  const unit = content("etc/systemd/system/fairlead@.service").split("\n");
  expect(unit).toContain(
    "ExecStart=/usr/local/bin/acme-cloud-controller-manager --cluster-name=%i $FAIRLEAD_FLAGS",
  );
  const dropIn = content("etc/systemd/system/fairlead@prod.service.d/credentials.conf").split("\n");
  expect(dropIn).toContain("LoadCredential=ACME_TOKEN:/etc/fairlead/%i/ACME_TOKEN");
  expect(dropIn).toContain("# LoadCredential=ACME_PASSWORD:/etc/fairlead/%i/ACME_PASSWORD");
  expect(content("etc/fairlead/prod/environment")).toBe(
    'FAIRLEAD_FLAGS="--cluster-cidr=10.0.0.0/16 --v=2"\nACME_ZONE="a \\"b\\" \\$HOME \\`id\\` \\\\"\n',
  );
  expect(content("etc/fairlead/prod/ACME_TOKEN")).toBe("x'y $(id) %i\n");
  expect(output).toContain("- the executable as /usr/local/bin/acme-cloud-controller-manager");
  expect(output).toContain("- the kubeconfig as /etc/fairlead/prod/kubeconfig");
  expect(output).toContain("systemctl enable --now fairlead@prod.service");
});

test("the systemd script makes credentials readable only for root, and does not print them", () => {
  const output = install(installScript(options));
  expect(mode("etc/fairlead/prod/ACME_TOKEN")).toBe(0o600);
  expect(mode("etc/fairlead/prod")).toBe(0o700);
  expect(mode("etc/systemd/system/fairlead@.service")).toBe(0o644);
  expect(output).not.toContain("x'y");
});

test("the systemd script writes a value that contains the script's end marker completely", () => {
  const [token] = options.credentials;
  if (token === undefined) throw new Error("no credential");
  const value = "a\nEND_OF_FILE\nb";
  install(installScript({ ...options, credentials: [{ ...token, value }] }));
  expect(content("etc/fairlead/prod/ACME_TOKEN")).toBe(`${value}\n`);
});

test("the systemd script uses the unit of the package, and overwrites no existing files", () => {
  for (const [path, text] of [
    ["usr/lib/systemd/system/fairlead@.service", "of the package"],
    ["usr/bin/acme-cloud-controller-manager", "#!/bin/sh"],
    ["etc/fairlead/prod/kubeconfig", "{}"],
  ] as const) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text, { mode: 0o755 });
  }
  const output = install(installScript(options));
  expect(existsSync(join(root, "etc/systemd/system/fairlead@.service"))).toBe(false);
  expect(content("etc/systemd/system/fairlead@prod.service.d/credentials.conf")).toContain("ACME_TOKEN");
  expect(output).not.toMatch(/executable as|kubeconfig as/);
});

test("the systemd script for a second cluster keeps the credentials of the first cluster", () => {
  install(installScript(options));
  install(installScript({ ...options, cluster: "test", credentials: [] }));
  expect(content("etc/systemd/system/fairlead@prod.service.d/credentials.conf")).toContain(
    "\nLoadCredential=",
  );
  expect(existsSync(join(root, "etc/systemd/system/fairlead@test.service.d"))).toBe(false);
});
