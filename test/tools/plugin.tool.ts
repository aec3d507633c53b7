// kubectl-fairlead as users install it: krew installs the archive of a release, and Ruby reads the formula.

import { describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nodes } from "../../src/kube/resources.ts";
import { startControlPlane } from "../cluster/rig/control-plane.ts";
import { keepFolder } from "../cluster/rig/kept-process.ts";
import { kubeletNode } from "../cluster/rig/kubelet-objects.ts";
import { connect, never } from "../kube/cluster/connect.ts";
import { mustRun, run } from "./rig/deploy-tools.ts";
import { debianTool, goTool, orSkipped, Unavailable } from "./rig/install.ts";
import { runRelease } from "./rig/release.ts";

const krew = orSkipped("krew", () =>
  goTool({ path: "sigs.k8s.io/krew/cmd/krew", version: "v0.4.3", name: "krew" }),
);
const assets = orSkipped("kubectl fairlead", () => {
  const folder = process.env["KUBEBUILDER_ASSETS"] ?? "";
  if (folder === "") throw new Unavailable("KUBEBUILDER_ASSETS is not set");
  return folder;
});
const ruby = orSkipped("the Homebrew formula", () => debianTool("ruby", ["ruby"]));

describe.skipIf(krew === undefined && ruby === undefined)("a release of kubectl-fairlead", () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-plugin-"));
  keepFolder(folder);
  const release = join(folder, "release");
  const root = join(folder, "krew");
  let isBuilt = false;
  const built = (): string => {
    if (!isBuilt)
      runRelease(
        ...["--allow-dirty", "--cloud=kubectl-fairlead", "--target=linux-x64,linux-arm64"],
        ...["--downloads=https://downloads.example/v1", "--outdir", release],
      );
    isBuilt = true;
    return release;
  };

  test.skipIf(krew === undefined)(
    "kubectl-fairlead is installed by krew from its manifest and archive, and runs",
    () => {
      const target = process.arch === "x64" ? "linux-x64" : "linux-arm64";
      const archive = join(built(), `kubectl-fairlead-${target}.tar.gz`);
      const manifest = join(release, "fairlead.krew.yaml");
      mustRun([krew ?? "", "install", `--manifest=${manifest}`, `--archive=${archive}`], { KREW_ROOT: root });
      const shown = mustRun([join(root, "bin/kubectl-fairlead"), "version"]);
      expect(shown).toStartWith("kubectl fairlead v");
    },
    600_000,
  );

  test.skipIf(krew === undefined || assets === undefined)(
    "kubectl-fairlead uses the provider of the cloud whose ids the Nodes have [F91]",
    async () => {
      const plane = await startControlPlane();
      try {
        const api = await connect(plane.kubeconfig);
        const kubectl = (...args: readonly string[]) =>
          run([join(assets ?? "", "kubectl"), ...args], {
            KUBECONFIG: plane.kubeconfig,
            PATH: `${join(root, "bin")}:${process.env["PATH"] ?? ""}`,
          });
        const fairlead = (...args: readonly string[]) => kubectl("fairlead", ...args);
        await api.create(nodes, kubeletNode("worker-1"), never);
        const unknown = fairlead("explain", "node", "worker-1");
        expect([unknown.code, unknown.err]).toEqual([
          2,
          expect.stringContaining(
            "kubectl fairlead: no Node has a provider id of a known cloud; set --cloud-provider",
          ),
        ]);
        kubectl("patch", "node", "worker-1", "-p", '{"spec":{"providerID":"hcloud://7"}}');
        const { out, err } = fairlead("explain", "node", "worker-1");
        expect(err).toBe("");
        expect(out).toContain("Node worker-1:");
        expect(fairlead("doctor").out).toContain("HCLOUD_TOKEN");
        expect(fairlead("doctor", "--cloud-provider=fake").out).toContain("127.0.0.1:8620");
      } finally {
        await plane.stop();
      }
    },
    600_000,
  );

  test.skipIf(ruby === undefined)(
    "kubectl-fairlead has a formula that Ruby accepts, with the checksums of the archives",
    () => {
      const formula = join(built(), "kubectl-fairlead.rb");
      expect(mustRun([ruby ?? "", "-c", formula])).toBe("Syntax OK\n");
      const sums = readFileSync(join(release, "SHA256SUMS"), "utf8");
      const text = readFileSync(formula, "utf8");
      for (const target of ["linux-x64", "linux-arm64"]) {
        const [, sum = "none"] =
          new RegExp(`^([0-9a-f]{64})  kubectl-fairlead-${target}.tar.gz$`, "m").exec(sums) ?? [];
        expect(text).toContain(
          `url "https://downloads.example/v1/kubectl-fairlead-${target}.tar.gz"\n      sha256 "${sum}"`,
        );
      }
    },
    600_000,
  );
});
