// The container image: read with skopeo, unpacked with umoci, and run with crun against an API server, which is a real
// one if KUBEBUILDER_ASSETS is set.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startControlPlane } from "../cluster/rig/control-plane.ts";
import { keepFolder, startProcess } from "../cluster/rig/kept-process.ts";
import { until } from "../cluster/rig/until.ts";
import { openWorld } from "../executable/world.ts";
import { pidInside, startContainer } from "./rig/container.ts";
import { debianTool, orSkipped, Unavailable } from "./rig/install.ts";
import { installCommands } from "./rig/page-commands.ts";
import { craneTool, LocalRegistry } from "./rig/registry.ts";
import { builtRelease, hasImages } from "./rig/release.ts";

const program = "fake-cloud-controller-manager";

const tools = orSkipped("image", () => {
  if (process.getuid?.() !== 0) throw new Unavailable("crun needs root here");
  return ["skopeo", "umoci", "crun"].map((name) => debianTool(name, [name]));
});

const ran = (...command: readonly string[]): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { stdin: "ignore" });
  if (exitCode !== 0) throw new Error(`"${command.join(" ")}" exited with ${exitCode}:\n${stderr}`);
  return stdout.toString();
};

const crane = orSkipped("registry", craneTool);
const emulator = orSkipped("arm64", () => debianTool("qemu-aarch64-static", ["qemu-user-static"]));

describe.skipIf(tools === undefined || !hasImages)("the container image", () => {
  const folder = mkdtempSync(join(tmpdir(), "fairlead-image-"));
  // Hooks do not run when all tests are skipped.
  keepFolder(folder);
  const layout = join(folder, "layout");
  const { version } = JSON.parse(readFileSync(`${import.meta.dir}/../../package.json`, "utf8")) as {
    readonly version: string;
  };
  const inspect = (...options: readonly string[]) =>
    JSON.parse(ran("skopeo", "inspect", ...options, `oci:${layout}:${version}`));
  const unpack = (architecture: string): string => {
    const bundle = join(folder, architecture);
    if (!existsSync(bundle))
      ran("umoci", "unpack", "--image", `${layout}:${version}-${architecture}`, bundle);
    return bundle;
  };

  beforeAll(() => {
    const archive = join(builtRelease().folder, `${program}-image.oci.tar`);
    ran("mkdir", layout);
    ran("tar", "-xf", archive, "-C", layout);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("the container image is one index for amd64 and arm64, with labels, a user and an entrypoint [F93]", () => {
    const { manifests } = inspect("--raw") as {
      readonly manifests: readonly { readonly platform: { readonly architecture: string } }[];
    };
    expect(manifests.map(({ platform }) => platform.architecture)).toEqual(["amd64", "arm64"]);
    for (const architecture of ["amd64", "arm64"]) {
      const platform = `--override-arch=${architecture}`;
      expect(inspect(platform)).toMatchObject({
        Architecture: architecture,
        Labels: {
          "org.opencontainers.image.title": program,
          "org.opencontainers.image.version": version,
          "org.opencontainers.image.licenses": "Apache-2.0",
        },
      });
      expect(inspect(platform, "--config").config).toMatchObject({
        User: "65532:65532",
        Entrypoint: [`/usr/local/bin/${program}`],
      });
    }
  });

  test("the container image has the executable, its libraries, CA certificates and a user, and little else", () => {
    for (const [architecture, machine] of [
      ["amd64", 0x3e],
      ["arm64", 0xb7],
    ] as const) {
      const root = join(unpack(architecture), "rootfs");
      const executable = join(root, "usr/local/bin", program);
      const libraries = readdirSync(join(root, "usr/lib"), { recursive: true, encoding: "utf8" });
      const library = libraries.find((path) => path.endsWith("libc.so.6")) ?? "";
      for (const path of [executable, join(root, "usr/lib", library)]) {
        expect(readFileSync(path).readUInt16LE(18)).toBe(machine);
      }
      const authorities = readFileSync(join(root, "etc/ssl/certs/ca-certificates.crt"), "utf8");
      expect(authorities.split("BEGIN CERTIFICATE").length).toBeGreaterThan(100);
      expect(readdirSync(join(root, "var/lib/dpkg/status.d")).toSorted()).toEqual([
        "ca-certificates",
        "libc6",
        "libgcc-s1",
      ]);
      const size = Number(ran("du", "--summarize", "--bytes", root).split("\t")[0]);
      expect(size - statSync(executable).size).toBeLessThan(5_000_000);
    }
  });

  test.skipIf(crane === undefined)(
    "the container image is pushed to a registry with both processors, as docs/install.md describes",
    async () => {
      await using registry = await LocalRegistry.start(crane ?? "");
      const name = `${registry.host}/owner/${program}:${version}`;
      const [push = ""] = installCommands("Container image");
      const command = push.replace("REGISTRY/OWNER", `${registry.host}/owner`);
      expect(command).toContain(`docker://${name}`);
      const local = command.replace("copy", "copy --dest-tls-verify=false");
      ran("sh", "-c", `cd ${builtRelease().folder} && ${local}`);
      for (const architecture of ["amd64", "arm64"]) {
        const options = ["--tls-verify=false", `--override-arch=${architecture}`];
        const pulled = JSON.parse(ran("skopeo", "inspect", ...options, `docker://${name}`));
        expect(pulled.Digest).toBe(inspect().Digest);
        expect(pulled.Layers).toEqual(inspect(`--override-arch=${architecture}`).Layers);
      }
    },
  );

  test("the container image initializes Nodes on a read-only root, as another user and without capabilities [F80]", async () => {
    const assets = process.env["KUBEBUILDER_ASSETS"] ?? "";
    const plane = assets === "" ? undefined : await startControlPlane();
    try {
      const file = join(builtRelease().folder, `${program}-linux-x64`);
      const kubeconfig = plane && readFileSync(plane.kubeconfig, "utf8");
      await using world = await openWorld({ file, ...(kubeconfig !== undefined && { kubeconfig }) });
      await world.join(3);
      const before = new Date();
      const container = startContainer(unpack("amd64"), {
        args: world.flags,
        env: ["TZ=Asia/Kathmandu"],
        folder: world.folder,
      });
      try {
        await until("the manager to start", () => container.output().includes(`Started ${program}`), {
          seconds: 180,
          explain: () => container.output(),
        });
        const pid = pidInside(container);
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        expect(status).toMatch(/^Uid:\t65532\t65532\t65532\t65532$/m);
        expect(status).toMatch(/^NoNewPrivs:\t1$/m);
        for (const set of ["Inh", "Prm", "Eff", "Bnd", "Amb"]) {
          expect(status).toMatch(new RegExp(`^Cap${set}:\t0{16}$`, "m"));
        }
        expect(readFileSync(`/proc/${pid}/mountinfo`, "utf8")).toMatch(/ \/ ro,\S* /);
        await world.initialized(container, 3);
        // The time zones are in the executable: Kathmandu is 5:45 h ahead, in log lines such as I1121 08:29:35.
        const [, minute = ""] = /^I\d{4} \d\d:(\d\d):/m.exec(container.output()) ?? [];
        const ahead = (Number(minute) - before.getUTCMinutes() + 60) % 60;
        expect([45, 46]).toContain(ahead);
      } finally {
        expect(await container.stop()).toBe(0);
      }
      expect(container.output()).not.toMatch(/EROFS|EACCES|EPERM|ENOENT/);
    } finally {
      await plane?.stop();
    }
  }, 180_000);

  test.skipIf(emulator === undefined)(
    "the container image initializes Nodes on arm64, under emulation [F93]",
    async () => {
      const file = join(builtRelease().folder, `${program}-linux-x64`);
      await using world = await openWorld({ file });
      await world.join(1);
      const root = join(unpack("arm64"), "rootfs");
      ran("cp", emulator ?? "", join(root, "emulator"));
      ran("mkdir", "-p", join(root, "proc"), join(root, world.folder));
      const script = `set -e
mount -t proc proc ${root}/proc
mount --bind ${world.folder} ${root}${world.folder}
exec chroot ${root} "$@"`;
      const command = ["/emulator", `/usr/local/bin/${program}`, ...world.flags];
      const manager = startProcess(["unshare", "--mount", "sh", "-c", script, "sh", ...command]);
      try {
        await world.initialized(manager, 1);
      } finally {
        expect(await manager.stop(30)).toBe(0);
      }
    },
    180_000,
  );
});
