// The OpenStack services as child processes: MariaDB, RabbitMQ, Keystone, Glance, Placement, Nova, Neutron, Octavia and Cinder.
// They need separate namespaces, so that ports, mounts and processes end with them; `isolated` is the command for this.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../../../cluster/rig/until.ts";
import { run } from "../../../../tools/rig/cached.ts";
import { ports, urlOf } from "./configuration.ts";
import { inside } from "./packages.ts";

/** The command with separate mounts and processes, and a separate loopback network. */
export const isolated = (command: readonly string[]): readonly string[] => [
  ...["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "--mount-proc", "sh", "-c"],
  ...['ip link set lo up && exec "$@"', "sh", ...command],
];

const uwsgi = (port: number, file: string): readonly string[] => [
  ...["uwsgi_python3", "--http-socket", `127.0.0.1:${port}`, "--wsgi-file", file, "--processes", "1"],
  ...["--threads", "4", "--enable-threads", "--master", "--die-on-term", "--buffer-size", "65535"],
  // Otherwise clients that keep connections open would get resets.
  ...["--add-header", "Connection: close"],
];
const configured = (program: string, ...files: readonly string[]): readonly string[] => [
  program,
  ...files.flatMap((file) => ["--config-file", `/etc/${file}`]),
];
const rabbit = "RABBITMQ_NODENAME=rabbit@localhost RABBITMQ_NODE_IP_ADDRESS=127.0.0.1 HOME=/var/lib/rabbitmq";

/** Runs the command as the user of RabbitMQ. */
const asRabbit = (command: string): readonly string[] => [
  ...["su", "-s", "/bin/sh", "rabbitmq", "-c", `${rabbit} ${command}`],
];

const commands = {
  mariadb: [
    ...["mariadbd", "--user=mysql", "--bind-address=127.0.0.1", "--max-connections=2000"],
    // No data has to survive.
    ...["--innodb-flush-log-at-trx-commit=0", "--skip-innodb-doublewrite", "--skip-log-bin"],
  ],
  rabbitmq: asRabbit("rabbitmq-server"),
  keystone: uwsgi(ports.keystone, "/usr/bin/keystone-wsgi-public"),
  placement: uwsgi(ports.placement, "/usr/bin/placement-api"),
  glance: configured("glance-api", "glance/glance-api.conf"),
  nova: configured("nova-api", "nova/nova.conf"),
  conductor: configured("nova-conductor", "nova/nova.conf"),
  scheduler: configured("nova-scheduler", "nova/nova.conf"),
  compute: configured("nova-compute", "nova/nova.conf"),
  neutron: configured("neutron-server", "neutron/neutron.conf", "neutron/plugins/ml2/ml2_conf.ini"),
  octavia: configured("octavia-api", "octavia/octavia-api.conf"),
  cinder: uwsgi(ports.cinder, "/usr/bin/cinder-wsgi"),
  volumeScheduler: configured("cinder-scheduler", "cinder/cinder.conf"),
  volumes: configured("cinder-volume", "cinder/cinder.conf"),
  worker: configured("octavia-worker", "octavia/octavia-worker.conf"),
} as const;
export type ServiceName = keyof typeof commands;

/** The URLs at which services answer. Other services are not waited for. */
const answers: Readonly<Partial<Record<ServiceName, string>>> = {
  keystone: `${urlOf("keystone")}/v3`,
  placement: urlOf("placement"),
  glance: urlOf("glance"),
  nova: urlOf("nova"),
  neutron: urlOf("neutron"),
  octavia: urlOf("octavia"),
  cinder: urlOf("cinder"),
};

interface Running {
  readonly pid: number;
  readonly exited: Promise<number>;
}

export class ServiceStack {
  readonly #root: string;
  readonly #running = new Map<ServiceName, Running>();

  private constructor(root: string) {
    this.#root = root;
  }

  /** Starts from the initialized databases. Changes are in memory, and end with the mounts. */
  static fresh(packages: string, databases: string): ServiceStack {
    const changes = join(databases, "work");
    run(["mount", "-t", "tmpfs", "tmpfs", changes], "/");
    return ServiceStack.mount([join(databases, "upper"), packages], changes);
  }

  /** Mounts a layer on these folders, which stay unchanged: `changes` gets the changes. */
  static mount(folders: readonly string[], changes: string): ServiceStack {
    const [root, upper, work] = ["root", "upper", "work"].map((name) => join(changes, name));
    if (root === undefined || upper === undefined || work === undefined) throw new Error("Expected folders.");
    for (const path of [root, upper, work]) mkdirSync(path, { recursive: true });
    const options = `lowerdir=${folders.join(":")},upperdir=${upper},workdir=${work}`;
    run(["mount", "-t", "overlay", "-o", options, "overlay", root], "/");
    run(["mount", "-t", "proc", "proc", join(root, "proc")], "/");
    run(["mount", "--bind", "/dev", join(root, "dev")], "/");
    return new ServiceStack(root);
  }

  get root(): string {
    return this.#root;
  }

  /** Runs a command inside, and returns its output. */
  run(command: readonly string[]): string {
    const options = { stdin: "ignore", env: { PATH: process.env["PATH"] ?? "" } } as const;
    const { exitCode, stdout, stderr } = Bun.spawnSync([...inside(this.#root, command)], options);
    if (exitCode === 0) return stdout.toString();
    throw new Error(`"${command.join(" ")}" exited with ${exitCode}:\n${stdout}${stderr}`);
  }

  /** Like `run`, but other commands can run at the same time. */
  async runAside(command: readonly string[]): Promise<void> {
    const child = Bun.spawn([...inside(this.#root, command)], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const texts = [child.stdout, child.stderr].map((stream) => new Response(stream).text());
    const output = (await Promise.all(texts)).join("");
    if ((await child.exited) !== 0) throw new Error(`"${command.join(" ")}" failed:\n${output.slice(-4000)}`);
  }

  runAsRabbit(command: string): string {
    return this.run(asRabbit(command));
  }

  sql(statement: string, database = "mysql"): string {
    return this.run(["mariadb", "--batch", "--skip-column-names", database, "-e", statement]);
  }

  logPath(name: ServiceName): string {
    return join(this.#root, "var/log", `fairlead-${name}.log`);
  }

  /** Starts the services, and waits until they answer. */
  async start(...names: readonly ServiceName[]): Promise<void> {
    for (const name of names) {
      const log = Bun.file(this.logPath(name));
      const options = { cwd: "/", stdin: "ignore", stdout: log, stderr: log, detached: true } as const;
      const child = Bun.spawn([...inside(this.#root, commands[name])], options);
      this.#running.set(name, child);
    }
    await Promise.all(names.map((name) => this.#untilItAnswers(name)));
  }

  /** Ends a service immediately, as a crash does. */
  async stop(name: ServiceName): Promise<void> {
    const running = this.#running.get(name);
    if (running === undefined) throw new Error(`${name} does not run.`);
    this.#running.delete(name);
    // Ends the workers, which are in the process group of the service.
    process.kill(-running.pid, "SIGKILL");
    await running.exited;
  }

  async #untilItAnswers(name: ServiceName): Promise<void> {
    const explain = () => this.#endOfLog(name);
    let isEnded = false;
    void this.#running.get(name)?.exited.then(() => {
      isEnded = true;
    });
    await until(`${name} to answer`, () => isEnded || this.#answers(name), { everyMs: 200, explain });
    if (isEnded) throw new Error(`${name} ended:\n${explain()}`);
  }

  async #answers(name: ServiceName): Promise<boolean> {
    if (name === "mariadb") return this.run(["mariadb-admin", "ping"]).includes("alive");
    if (name === "rabbitmq") return isOpen(5672);
    const url = answers[name];
    return url === undefined || (await fetch(url)).status < 500;
  }

  #endOfLog(name: ServiceName): string {
    return Bun.spawnSync(["tail", "-n", "30", this.logPath(name)]).stdout.toString();
  }
}

async function isOpen(port: number): Promise<boolean> {
  const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data: () => undefined } });
  socket.end();
  return true;
}
