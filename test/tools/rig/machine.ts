// A machine with only Debian: a minimal system of debootstrap, kept between runs, which a real systemd boots in a container. The
// changes of a test are in memory and are lost afterwards. It shares the network of this machine.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type KeptProcess, keepFolder, startProcess } from "../../cluster/rig/kept-process.ts";
import { until } from "../../cluster/rig/until.ts";
import { cached, run } from "./cached.ts";
import { debianTool, installing, Unavailable } from "./install.ts";

const suite = "bookworm";
const packages = ["systemd", "systemd-sysv", "dbus", "openssl", "ca-certificates"];

export interface Ended {
  readonly code: number;
  readonly output: string;
}

function childrenOf(pid: number): readonly number[] {
  try {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return text === "" ? [] : text.split(" ").map(Number);
  } catch {
    return [];
  }
}

export class DebianMachine {
  readonly root: string;
  readonly #base: string;
  readonly #nspawn: KeptProcess;

  private constructor(base: string, nspawn: KeptProcess) {
    this.#base = base;
    this.root = join(base, "root");
    this.#nspawn = nspawn;
  }

  /** The folder of the minimal system. Throws Unavailable if none can be made or booted. */
  static prepare(): string {
    if (process.getuid?.() !== 0) throw new Unavailable("a container with systemd needs root");
    debianTool("systemd-nspawn", ["systemd-container"]);
    const debootstrap = debianTool("debootstrap", ["debootstrap"]);
    if (Bun.spawnSync(["unshare", "--mount", "--pid", "--fork", "true"]).exitCode !== 0) {
      throw new Unavailable("this machine forbids namespaces");
    }
    return installing("a Debian system", () =>
      cached(`debian-${suite}-${packages.join("-")}`, (folder) =>
        run(
          [debootstrap, "--variant=minbase", `--include=${packages.join(",")}`, suite, join(folder, "root")],
          "/",
        ),
      ),
    );
  }

  static async boot(): Promise<DebianMachine> {
    const lower = join(DebianMachine.prepare(), "root");
    const base = mkdtempSync(join(tmpdir(), "fairlead-machine-"));
    keepFolder(base);
    // Separate namespaces, so that all mounts and processes end with the first process.
    const script = `set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs ${base}
mkdir ${base}/upper ${base}/work ${base}/root
mount -t overlay -o lowerdir=${lower},upperdir=${base}/upper,workdir=${base}/work overlay ${base}/root
exec systemd-nspawn --directory=${base}/root --machine=fairlead-${process.pid} --register=no --keep-unit --console=pipe --boot`;
    const nspawn = startProcess(
      ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", script],
      { cwd: "/" },
    );
    const machine = new DebianMachine(base, nspawn);
    await until("systemd to boot", () => machine.#isBooted(), {
      seconds: 180,
      everyMs: 200,
      explain: () => nspawn.output(),
    });
    return machine;
  }

  #isBooted(): boolean {
    if (this.#nspawn.exitCode() !== null) throw new Error(`The container ended:\n${this.#nspawn.output()}`);
    return (
      this.#leader() !== undefined && /running|degraded/.test(this.run("systemctl is-system-running").output)
    );
  }

  /** The pid of systemd: unshare starts nspawn, which starts systemd. */
  #leader(): number | undefined {
    const [nspawn] = childrenOf(this.#nspawn.pid);
    const [leader] = nspawn === undefined ? [] : childrenOf(nspawn);
    return leader;
  }

  /** Runs a shell command in /root of the machine. */
  run(command: string): Ended {
    const enter = ["nsenter", `--target=${this.#leader()}`, "--mount", "--pid", "--uts", "--ipc"];
    const { exitCode, stdout, stderr } = Bun.spawnSync([...enter, "sh", "-c", `cd /root; ${command}`], {
      stdin: "ignore",
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", LC_ALL: "C.UTF-8" },
    });
    return { code: exitCode, output: `${stdout}${stderr}` };
  }

  /** Returns the output; throws when the command fails. */
  must(command: string): string {
    const { code, output } = this.run(command);
    if (code !== 0) throw new Error(`"${command}" exited with ${code}:\n${output}`);
    return output;
  }

  /** Copies a file of this machine. */
  copyIn(path: string, target: string): void {
    const inside = `/proc/${this.#leader()}/root${target}`;
    mkdirSync(join(inside, ".."), { recursive: true });
    run(["cp", path, inside], "/");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Nothing in the machine needs to be saved.
    this.#nspawn.signal("SIGKILL");
    await this.#nspawn.exited;
    rmSync(this.#base, { recursive: true, force: true });
  }
}
