// The Debian and RPM packages: inspected with dpkg, lintian and rpm, and installed, upgraded, rolled back and removed on a machine
// that has only Debian, with a real systemd.

import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { type PackageContent, packageTargets } from "../../scripts/release/packages/content.ts";
import { debianPackage } from "../../scripts/release/packages/deb.ts";
import { rpmPackage } from "../../scripts/release/packages/rpm.ts";
import { until } from "../cluster/rig/until.ts";
import { openWorld } from "../executable/world.ts";
import { CleanRoot } from "./rig/clean-root.ts";
import { debianTool, needTool, orSkipped } from "./rig/install.ts";
import { DebianMachine } from "./rig/machine.ts";
import { installCommands } from "./rig/page-commands.ts";
import { builtRelease } from "./rig/release.ts";

const root = resolve(import.meta.dir, "../..");
const program = "fake-cloud-controller-manager";
const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  readonly version: string;
};
const deb = `${program}_${version}_amd64.deb`;
const rpm = `${program}-${version}-1.x86_64.rpm`;

const folder = mkdtempSync(join(tmpdir(), "fairlead-packages-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ran = (...command: readonly string[]): string => {
  const { exitCode, stdout, stderr } = Bun.spawnSync([...command], { stdin: "ignore" });
  if (exitCode !== 0) throw new Error(`"${command.join(" ")}" exited with ${exitCode}:\n${stdout}${stderr}`);
  return `${stdout}${stderr}`;
};
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const inRelease = (name: string): string => join(builtRelease().folder, name);

const lintian = orSkipped("lintian", () => needTool("lintian"));
test.skipIf(lintian === undefined)("the Debian package has no finding of lintian", () => {
  const { stdout } = Bun.spawnSync(["lintian", "--fail-on=error,warning", "--allow-root", inRelease(deb)]);
  expect(stdout.toString()).toBe("");
});

const rpmTool = orSkipped("RPM package", () => debianTool("rpm", ["rpm"]));
describe.skipIf(rpmTool === undefined)("the RPM package", () => {
  test("the RPM package has correct checksums, its dependencies, and a configuration file that upgrades keep [F96]", () => {
    expect(ran("rpm", "--checksig", "--verbose", inRelease(rpm)).match(/: OK$/gm)?.length).toBe(4);
    expect(ran("rpm", "-qp", "--requires", inRelease(rpm))).toContain("libc.so.6(GLIBC_2.17)(64bit)");
    expect(ran("rpm", "-qp", "--queryformat", "%{name} %{version} %{arch} %{license}", inRelease(rpm))).toBe(
      `${program} ${version} x86_64 Apache-2.0`,
    );
    const flags = ran("rpm", "-qp", "--queryformat", "[%{filenames} %{fileflags:fflags}\n]", inRelease(rpm));
    // c means configuration, n means noreplace.
    expect(flags).toContain("/etc/fairlead/environment cn\n");
  });

  test("the RPM package installs the files of the Debian package [F96]", () => {
    const installed = join(folder, "rpm-root");
    ran("rpm", "--root", installed, "--nodeps", "--noscripts", "--ignorearch", "-i", inRelease(rpm));
    const unpacked = join(folder, "deb-root");
    ran("dpkg-deb", "-x", inRelease(deb), unpacked);
    for (const path of [`usr/bin/${program}`, "usr/lib/systemd/system/fairlead@.service"]) {
      expect(readFileSync(join(installed, path)).equals(readFileSync(join(unpacked, path)))).toBe(true);
      expect(statSync(join(installed, path)).mode).toBe(statSync(join(unpacked, path)).mode);
    }
    const config = readFileSync(join(installed, "etc/fairlead/environment"));
    expect(config.equals(readFileSync(join(unpacked, `usr/share/${program}/environment`)))).toBe(true);
    expect(ran("rpm", "--root", installed, "-V", "--nodeps", program)).toBe("");
  });
});

/** A newer release, whose template of the configuration has a different text. */
const newer: PackageContent = {
  name: program,
  version: "99.0.0",
  summary: "A newer release",
  description: ["It has a different template of the configuration."],
  files: [
    { path: "etc/fairlead/environment", mode: 0o600, content: bytes("# Another text.\n"), isConfig: true },
    { path: `usr/bin/${program}`, mode: 0o755, content: bytes("newer\n") },
  ],
  folders: [{ path: "etc/fairlead/", mode: 0o700 }],
  time: 1_700_000_000,
};

const chroot = orSkipped("packages in a clean root", () => {
  CleanRoot.prepare();
  return true;
});
describe.skipIf(chroot === undefined)("In a root that has nothing but a shell", () => {
  const settings = "HCLOUD_TOKEN=edited\n";
  const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

  /** Installs the package and edits its configuration. */
  function installed(tool: "dpkg" | "rpm", file: string) {
    const machine = new CleanRoot(tool);
    const before = machine.files();
    machine.run("-i", inRelease(file));
    const environment = join(machine.path, "etc/fairlead/environment");
    expect([modeOf(dirname(environment)), modeOf(environment)]).toEqual(["700", "600"]);
    expect(modeOf(join(machine.path, "usr/bin", program))).toBe("755");
    writeFileSync(environment, settings);
    return { machine, before, environment };
  }

  const upgrade = (machine: CleanRoot, option: string, name: string, content: Uint8Array): void => {
    const path = join(folder, name);
    writeFileSync(path, content);
    machine.run(option, path);
    expect(readFileSync(join(machine.path, "usr/bin", program), "utf8")).toBe("newer\n");
  };

  test.each(packageTargets)(
    "the Debian package for $debian is installed, upgraded, removed and purged [F96]",
    ({ debian }) => {
      const { machine, before, environment } = installed("dpkg", `${program}_${version}_${debian}.deb`);
      upgrade(machine, "-i", `newer_${debian}.deb`, debianPackage(newer, debian));
      expect(readFileSync(environment, "utf8")).toBe(settings);
      machine.run("--remove", program);
      expect(machine.files()).toEqual(
        [...before, "etc", "etc/fairlead", "etc/fairlead/environment"].toSorted(),
      );
      machine.run("--purge", program);
      expect(machine.files().filter((path) => path !== "etc")).toEqual([...before]);
    },
  );

  test.skipIf(rpmTool === undefined).each(packageTargets)(
    "the RPM package for $rpm is installed, upgraded and removed [F96]",
    ({ rpm: processor }) => {
      const { machine, environment } = installed("rpm", `${program}-${version}-1.${processor}.rpm`);
      upgrade(machine, "-U", `newer.${processor}.rpm`, rpmPackage(newer, processor));
      expect(readFileSync(environment, "utf8")).toBe(settings);
      machine.run("-e", program);
      expect(machine.files().filter((path) => path.includes("fairlead") || path.includes(program))).toEqual([
        ...["etc/fairlead", "etc/fairlead/environment.rpmnew", "etc/fairlead/environment.rpmsave"],
      ]);
      expect(readFileSync(`${environment}.rpmsave`, "utf8")).toBe(settings);
    },
  );
});

/** A newer release with another template of the configuration, whose executable does not start. */
function brokenPackage(): string {
  const tree = join(folder, "broken");
  ran("dpkg-deb", "-R", inRelease(deb), tree);
  const control = join(tree, "DEBIAN/control");
  writeFileSync(control, readFileSync(control, "utf8").replace(/^Version: .*$/m, "Version: 99.0.0"));
  rmSync(join(tree, "DEBIAN/md5sums"));
  writeFileSync(join(tree, "usr/share", program, "environment"), "# Another text.\n");
  const executable = join(tree, "usr/bin", program);
  writeFileSync(executable, "#!/bin/sh\nexit 1\n");
  chmodSync(executable, 0o755);
  const path = join(folder, "broken.deb");
  ran("dpkg-deb", "-b", tree, path);
  return path;
}

const system = orSkipped("a machine with systemd", () => DebianMachine.prepare());
describe.skipIf(system === undefined)("on a machine that has only Debian", () => {
  test("docs/install.md leads from a download to initialized Nodes, and a purge leaves nothing [F96 F97]", async () => {
    const { publicKey } = builtRelease();
    await using world = await openWorld({ file: inRelease(`${program}-linux-x64`) });
    await using machine = await DebianMachine.boot();
    const files = (): string =>
      machine.must(
        "find / -xdev ! -path '/var/*' ! -path '/proc/*' ! -path '/run/*' ! -path '/tmp/*' ! -path '/root/*' | sort",
      );
    const before = files();
    const started = performance.now();

    // The commands of the page, with copies instead of downloads.
    for (const name of [deb, "SHA256SUMS", "SHA256SUMS.sig"])
      machine.copyIn(inRelease(name), `/root/${name}`);
    machine.copyIn(publicKey, "/root/release-key.pub");
    machine.copyIn(world.kubeconfig, "/root/kubeconfig");
    const [verify = ""] = installCommands("Download and verify").slice(-1);
    expect(machine.must(verify)).toBe(`Verified OK\n${deb}: OK\n`);
    const [install = ""] = installCommands("Debian and RPM packages").slice(-1);
    expect(install).toContain("HCLOUD_TOKEN=…");
    // The container shares ports with this machine.
    const flags = "FAIRLEAD_FLAGS=--secure-port=0 ";
    const edited = install.replace("HCLOUD_TOKEN=…", `FAKE_ENDPOINT=${world.endpoint}`);
    machine.must(edited.replace("FAIRLEAD_FLAGS=", flags));
    await world.join(3);
    const explain = () =>
      machine.run("systemctl status fairlead@prod; journalctl --no-pager -u fairlead@prod").output;
    await world.areInitialized(3, explain);
    expect(machine.must(`${program} --version`)).toStartWith(`${program} v${version}`);
    expect(machine.must("systemd-analyze verify fairlead@prod.service")).toBe("");
    const completion = `/usr/share/bash-completion/completions/${program}`;
    expect(machine.must(`bash -n ${completion} && ${program} __complete expl`)).toContain("explain");
    expect(machine.must(`zcat /usr/share/man/man8/${program}.8.gz`)).toContain(
      "--cluster-cidr".replaceAll("-", "\\-"),
    );
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(`From the download to initialized Nodes: ${seconds.toFixed(1)} s\n`);
    expect(seconds).toBeLessThan(300);
    const mainPid = machine.must("systemctl show --property=MainPID --value fairlead@prod").trim();
    expect(machine.must(`grep -E '^(Uid|CapEff|NoNewPrivs)' /proc/${mainPid}/status`)).toMatch(
      /Uid:\t6\d{4}\t.*\nCapEff:\t0{16}\nNoNewPrivs:\t1\n/,
    );
    machine.must("systemctl reload fairlead@prod");

    // An upgrade to a broken release keeps the configuration, and one command rolls it back.
    machine.copyIn(brokenPackage(), "/root/broken.deb");
    machine.must("dpkg -i broken.deb < /dev/null");
    const isActive = () => machine.run("systemctl is-active fairlead@prod").output.trim();
    await until("the broken release to fail", () => isActive() !== "active", { seconds: 180, explain });
    expect(machine.must("cat /etc/fairlead/environment")).toContain(`FAKE_ENDPOINT=${world.endpoint}`);
    machine.must(`dpkg -i ${deb}`);
    await until("the previous release to run", () => isActive() === "active", { seconds: 180, explain });

    // Removal stops the service and keeps the configuration; a purge leaves nothing.
    machine.must(`dpkg --remove ${program}`);
    expect(isActive()).not.toBe("active");
    expect(machine.run("test -e /etc/fairlead/environment").code).toBe(0);
    machine.must(`dpkg --purge ${program}`);
    expect(files()).toBe(before);
    expect(machine.must("systemctl list-units --all --plain --no-legend 'fairlead@*'")).toBe("");
  }, 240_000);
});
