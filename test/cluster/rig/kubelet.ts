// A real kubelet with containerd, in a mount namespace that ends with it: pods run on this machine, with images that the test
// creates. Requires root, and $FAIRLEAD_KUBELET or a kubelet in $KUBEBUILDER_ASSETS.

import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ociLayout } from "../../../scripts/release/image/layout.ts";
import type { Architecture } from "../../../scripts/release/image/lock.ts";
import { foldersOf, gzip, type TarEntry, tar } from "../../../scripts/release/tar.ts";
import { writeKubeconfig } from "../../../src/testing/apiserver/serving/https-server.ts";
import type { ControlPlane } from "./control-plane.ts";
import { freePort } from "./free-port.ts";
import { type KeptProcess, keepFolder, startProcess } from "./kept-process.ts";
import { until } from "./until.ts";

const kubeletPath = (): string =>
  process.env["FAIRLEAD_KUBELET"] ?? join(process.env["KUBEBUILDER_ASSETS"] ?? "", "kubelet");

/** The missing prerequisites, in one line; undefined if a kubelet can run here. */
export function missingForKubelet(): string | undefined {
  if (process.getuid?.() !== 0) return "it needs root";
  if (!existsSync(kubeletPath()))
    return "there is no kubelet; set FAIRLEAD_KUBELET to its path, or put it into KUBEBUILDER_ASSETS";
  const missing = ["containerd", "ctr", "runc", "unshare", "nsenter", "busybox"].filter(
    (name) => Bun.which(name) === null,
  );
  return missing.length === 0 ? undefined : `${missing.join(", ")} must be installed`;
}

export interface Kubelet extends AsyncDisposable {
  /** The root folder of the kubelet. */
  readonly folder: string;
  /** The image of the sandboxes, which has a shell. */
  readonly shellImage: string;
  /** Adds an image with these files; returns its name. */
  addImage(name: string, entries: readonly TarEntry[], entrypoint: readonly string[]): Promise<string>;
  /** The output of a pod's containers. */
  logOf(pod: string): string;
  output(): string;
}

/** A file of this machine, and the libraries that it loads, for an image. */
export function withLibraries(path: string, as: string): readonly TarEntry[] {
  const listed = Bun.spawnSync(["ldd", path]).stdout.toString();
  const libraries = [...listed.matchAll(/(\/\S+)/g)].map(([, library = ""]) => library);
  const files = [[path, as], ...libraries.map((library) => [library, library.slice(1)])];
  return files.map(([from = "", to = ""]) => ({ path: to, mode: 0o755, content: readFileSync(from) }));
}

const shell = (path: string): TarEntry => ({ path: `bin/${path}`, mode: 0o777, link: "busybox" });

export async function startKubelet(plane: ControlPlane, node: string): Promise<Kubelet> {
  // Socket paths are limited to 107 characters.
  const folder = mkdtempSync(join(tmpdir(), "kubelet-"));
  keepFolder(folder);
  const file = (name: string, content: string): string => {
    const path = join(folder, name);
    writeFileSync(path, content, { mode: 0o600 });
    return path;
  };
  // Mounts of pods are visible only in this namespace, and vanish with it.
  const namespace = startProcess([
    ...["unshare", "--mount", "--propagation", "private"],
    ...["sh", "-c", "mount --make-rshared / && exec sleep infinity"],
  ]);
  await until("the mount namespace", () => {
    const own = readlinkSync("/proc/self/ns/mnt");
    const isSleeping = readFileSync(`/proc/${namespace.pid}/comm`, "utf8").trim() === "sleep";
    return isSleeping && readlinkSync(`/proc/${namespace.pid}/ns/mnt`) !== own;
  });
  const inside = (...command: readonly string[]): KeptProcess =>
    startProcess(["nsenter", "-t", String(namespace.pid), "-m", "--", ...command], { cwd: folder });

  const socket = join(folder, "containerd.sock");
  const config = [
    ...["version = 2", `root = "${folder}/images"`, `state = "${folder}/state"`],
    'disabled_plugins = ["io.containerd.internal.v1.opt"]',
    ...["[grpc]", `address = "${socket}"`, '[plugins."io.containerd.grpc.v1.cri"]'],
    ...['sandbox_image = "localhost/shell:test"', "restrict_oom_score_adj = true", "disable_apparmor = true"],
  ];
  const containerd = inside("containerd", "-c", file("containerd.toml", config.join("\n")));
  const ctr = async (...args: readonly string[]): Promise<string> => {
    const child = inside("ctr", "-a", socket, "-n", "k8s.io", ...args);
    if ((await child.exited) === 0) return child.output();
    throw new Error(`ctr ${args.join(" ")} failed:\n${child.output()}`);
  };
  await until("containerd", async () => (await ctr("version")) !== "", {
    explain: () => containerd.output().slice(-2000),
  });

  const addImage: Kubelet["addImage"] = async (name, entries, entrypoint) => {
    const all = [...foldersOf(entries.map(({ path }) => path)), { path: "tmp/", mode: 0o1777 }, ...entries];
    const uncompressed = tar(all, 0);
    const architecture: Architecture = process.arch === "arm64" ? "arm64" : "amd64";
    const layer = { uncompressed, compressed: gzip(uncompressed), createdBy: "test" };
    const options = { tag: "test", created: "2020-01-01T00:00:00Z", entrypoint, labels: {} };
    const layout = ociLayout([{ architecture, layers: [layer] }], { ...options, environment: ["PATH=/bin"] });
    const path = join(folder, `${name}.tar`);
    await Bun.write(path, tar(layout, 0));
    await ctr("images", "import", "--base-name", `localhost/${name}`, path);
    return `localhost/${name}:test`;
  };
  const busybox = { path: "bin/busybox", mode: 0o755, content: readFileSync(Bun.which("busybox") ?? "") };
  const shellImage = await addImage(
    "shell",
    [busybox, ...["sh", "sleep", "cat", "echo", "ls", "sync", "stat", "df"].map(shell)],
    ["/bin/sleep", "1000000"],
  );

  const credentials = {
    name: "kubelet",
    server: plane.server,
    ...plane.issue(`system:node:${node}`, ["system:nodes"]),
  };
  const settings = {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    // The test machine may have either version of cgroups, and swap.
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: "cgroupfs",
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    makeIPTablesUtilChains: false,
    containerRuntimeEndpoint: `unix://${socket}`,
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    address: "127.0.0.1",
    port: freePort(),
    readOnlyPort: 0,
    healthzPort: 0,
    evictionHard: { "nodefs.available": "1%", "imagefs.available": "1%", "memory.available": "50Mi" },
    podLogsDir: join(folder, "logs"),
    volumePluginDir: join(folder, "flex"),
  };
  const kubelet = inside(
    ...[kubeletPath(), `--config=${file("kubelet.json", JSON.stringify(settings))}`, `--root-dir=${folder}`],
    `--kubeconfig=${file("kubeconfig", writeKubeconfig(plane.ca, [credentials]))}`,
    ...[`--hostname-override=${node}`, `--cert-dir=${join(folder, "pki")}`, "--cloud-provider=external"],
  );
  return {
    folder,
    shellImage,
    addImage,
    logOf: (pod) =>
      [...new Bun.Glob(`*_${pod}_*/*/*.log`).scanSync({ cwd: join(folder, "logs"), absolute: true })]
        .map((path) => readFileSync(path, "utf8"))
        .join(""),
    output: () => kubelet.output(),
    [Symbol.asyncDispose]: async () => {
      await kubelet.stop();
      const tasks = (await ctr("tasks", "ls", "-q").catch(() => ""))
        .split("\n")
        .filter((task) => task !== "");
      for (const task of tasks) await ctr("tasks", "rm", "-f", task).catch(() => undefined);
      await containerd.stop();
      await namespace.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
