// The images and the chart that the release workflow pushes: runs the commands of its step against a registry on loopback, with a
// key instead of the workflow's identity.

import { describe, expect, test } from "bun:test";
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { runsNightly } from "../../src/testing/breadth.ts";
import { keepFolder } from "../cluster/rig/kept-process.ts";
import { tools as deployTools } from "./rig/deploy-tools.ts";
import { debianTool, goTool, orSkipped, Unavailable } from "./rig/install.ts";
import { craneTool, LocalRegistry } from "./rig/registry.ts";
import { builtRelease, hasImages } from "./rig/release.ts";

const root = resolve(import.meta.dir, "../..");
const program = "fake-cloud-controller-manager";
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
};

const tools = orSkipped("publishing", () => {
  if (!runsNightly)
    throw new Unavailable("the build of cosign takes minutes, so it runs with the nightly tests");
  return {
    skopeo: debianTool("skopeo", ["skopeo"]),
    crane: craneTool(),
    cosign: goTool({ path: "github.com/sigstore/cosign/v3/cmd/cosign", version: "v3.1.3", name: "cosign" }),
  };
});

/** The commands of the push step in release.yml. */
function pushCommands(): string {
  const { jobs } = parse(readFileSync(join(root, ".github/workflows/release.yml"), "utf8")) as {
    readonly jobs: { readonly images: { readonly steps: readonly { readonly run?: string }[] } };
  };
  return jobs.images.steps.find(({ run }) => run !== undefined)?.run ?? "";
}

/** A folder with the files of a release, and the commands that the step finds in its PATH. */
class Runner {
  readonly #folder = mkdtempSync(join(tmpdir(), "fairlead-publish-"));
  readonly #env: Readonly<Record<string, string>>;

  constructor({ skopeo, cosign }: NonNullable<typeof tools>, helm: string, host: string) {
    keepFolder(this.#folder);
    for (const name of ["release", "bin"]) mkdirSync(join(this.#folder, name));
    for (const name of [`${program}-image.oci.tar`, `${program}-image.cdx.json`, `fairlead-${version}.tgz`]) {
      copyFileSync(join(builtRelease().folder, name), join(this.#folder, "release", name));
    }
    // The registry has no TLS, and nothing is logged in a public transparency log.
    this.#command(
      "skopeo",
      `command=$1 verify=tls-verify\nshift\n[ "$command" = copy ] && verify=dest-tls-verify\nexec ${skopeo} "$command" --"$verify"=false "$@"`,
    );
    this.#command("helm", `exec ${helm} "$@" --plain-http`);
    const signing = `--key ${this.#folder}/cosign.key --signing-config ${this.#folder}/signing.json`;
    this.#command(
      "cosign",
      `[ "$1" = login ] && exec ${cosign} "$@"\ncommand=$1\nshift\nexec ${cosign} "$command" ${signing} "$@"`,
    );
    this.#env = {
      PATH: `${this.#folder}/bin:${process.env["PATH"] ?? ""}`,
      HOME: this.#folder,
      REGISTRY_AUTH_FILE: join(this.#folder, "auth.json"),
      COSIGN_PASSWORD: "",
      REGISTRY_USER: "owner",
      REGISTRY_TOKEN: "token",
      IMAGE_REGISTRY: `${host}/owner`,
      TAG: `v${version}`,
    };
    this.run(`${cosign} generate-key-pair`);
    this.run(`${cosign} signing-config create --out signing.json`);
  }

  #command(name: string, text: string): void {
    const path = join(this.#folder, "bin", name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
  }

  /** Runs commands as a step with `shell: bash` does. */
  run(commands: string, folder = "."): string {
    const { exitCode, stdout, stderr } = Bun.spawnSync(
      ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", commands],
      { cwd: join(this.#folder, folder), env: this.#env, stdin: "ignore" },
    );
    if (exitCode !== 0) throw new Error(`"${commands}" exited with ${exitCode}:\n${stdout}${stderr}`);
    return `${stdout}${stderr}`;
  }
}

describe.skipIf(tools === undefined || deployTools === undefined || !hasImages)(
  "the release workflow",
  () => {
    test("the release workflow pushes images and chart, signed and with the SBOM as an attestation [F93 F95 F97]", async () => {
      const { cosign = "", crane = "" } = tools ?? {};
      if (tools === undefined) return;
      await using registry = await LocalRegistry.start(crane);
      const runner = new Runner(tools, deployTools?.helm ?? "", registry.host);
      runner.run(pushCommands(), "release");

      const pushed = runner.run("cat pushed").trim().split("\n");
      const names = [`${registry.host}/owner/${program}`, `${registry.host}/owner/fairlead`];
      const digestOf = (name: string): string => runner.run(`${crane} digest ${name}:${version}`).trim();
      expect(pushed).toEqual(names.map((name) => `${digestOf(name).replace("sha256:", "")}  ${name}`));

      const verified = "--key cosign.pub --insecure-ignore-tlog=true";
      for (const name of names) {
        expect(runner.run(`${cosign} verify ${verified} ${name}:${version}`)).toContain(digestOf(name));
      }
      const sbom = runner.run(
        `${cosign} verify-attestation ${verified} --type cyclonedx ${names[0]}:${version} 2>/dev/null`,
      );
      const { payload } = JSON.parse(sbom.trim().split("\n").at(-1) ?? "{}") as { readonly payload: string };
      expect(Buffer.from(payload, "base64").toString()).toContain("pkg:deb/debian/libc6@");

      // Another image under the same tag has no signature.
      runner.run(
        `${crane} append --base "" --new_layer release/fairlead-${version}.tgz --new_tag ${names[0]}:${version}`,
      );
      expect(() => runner.run(`${cosign} verify ${verified} ${names[0]}:${version}`)).toThrow(
        /no (matching )?signatures/,
      );
      expect(runner.run(`helm pull oci://${names[1]} --version ${version}`)).toContain("Digest: sha256:");
    });
  },
);
