// govmomi's simulator of vCenter as a process, and a connection of the provider to it over a transport that a test can disturb.

import { vsphere } from "../../../../../providers/vsphere/index.ts";
import { connectCloud } from "../../../../../src/app/connect-cloud.ts";
import type { CloudCallReport } from "../../../../../src/cloud/governed-transport.ts";
import { Secret } from "../../../../../src/core/secret.ts";
import { systemClock } from "../../../../../src/platform/clock.ts";
import { systemRandom } from "../../../../../src/platform/random.ts";
import { systemTransport, type Transport } from "../../../../../src/platform/transport.ts";
import type { Instance, InstanceSource } from "../../../../../src/provider/instances.ts";
import type { AnyCloud, AnyProvider } from "../../../../../src/provider/provider.ts";

interface Started {
  readonly host: string;
  readonly control: string;
  readonly user: string;
  readonly password: string;
  readonly fingerprint?: string;
}

export interface SimulatedMachine {
  readonly ref: string;
  readonly name: string;
  readonly uuid: string;
}

/** The changes of a machine that a test makes. */
export interface MachineChange {
  readonly hostName?: string;
  readonly nics?: readonly {
    readonly network: string;
    readonly deviceConfigId: number;
    readonly ips: readonly string[];
  }[];
  readonly power?: "poweredOn" | "poweredOff" | "suspended";
  readonly connection?: string;
  readonly uuid?: string;
  readonly noConfig?: boolean;
  readonly template?: boolean;
  readonly extraConfig?: Readonly<Record<string, string>>;
}

export class Vcsim implements AsyncDisposable {
  readonly #process: Bun.Subprocess;
  readonly started: Started;

  private constructor(process: Bun.Subprocess, started: Started) {
    this.#process = process;
    this.started = started;
  }

  /** The program is in the variable FAIRLEAD_VCSIM. `flags` have the form `-vm=10`. */
  static async start(...flags: readonly string[]): Promise<Vcsim> {
    const program = process.env["FAIRLEAD_VCSIM"] ?? "";
    if (program === "") throw new Error("Run it with: npm run test:clients -- vsphere");
    const child = Bun.spawn([program, ...flags], { stdout: "pipe", stderr: "inherit", stdin: "ignore" });
    const reader = child.stdout.getReader();
    let text = "";
    while (!text.includes("\n")) {
      const { value, done } = await reader.read();
      if (done) throw new Error("vcsim ended before it listened.");
      text += new TextDecoder().decode(value);
    }
    return new Vcsim(child, JSON.parse(text) as Started);
  }

  async machines(): Promise<readonly SimulatedMachine[]> {
    const response = await fetch(`${this.started.control}/machines`);
    const machines = (await response.json()) as readonly SimulatedMachine[];
    return machines.toSorted((one, other) => one.name.localeCompare(other.name));
  }

  async change(name: string, change: MachineChange): Promise<void> {
    await this.#control(`/change?name=${name}`, { method: "POST", body: JSON.stringify(change) });
  }

  /** Gives each machine a host name, and one address. */
  async installTools(): Promise<void> {
    for (const [index, { name }] of (await this.machines()).entries()) {
      const ips = [`10.1.${index >> 8}.${index & 255}`];
      const hostName = name.toLowerCase().replaceAll("_", "-");
      await this.change(name, { hostName, nics: [{ network: "VM Network", deviceConfigId: 4000, ips }] });
    }
  }

  async remove(name: string): Promise<void> {
    await this.#control(`/remove?name=${name}`, { method: "POST" });
  }

  async sessions(): Promise<number> {
    return Number(await this.#control("/sessions", {}));
  }

  async endSessions(): Promise<void> {
    await this.#control("/sessions", { method: "DELETE" });
  }

  async #control(path: string, request: RequestInit): Promise<string> {
    const response = await fetch(this.started.control + path, request);
    if (!response.ok) throw new Error(`${path} of vcsim answered ${response.status}.`);
    return response.text();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill("SIGTERM");
    await this.#process.exited;
  }
}

/** The provider, connected to one vcsim. */
export class Connection implements AsyncDisposable {
  readonly calls: CloudCallReport[] = [];
  readonly cloud: AnyCloud;
  readonly source: InstanceSource;
  readonly #call = { signal: new AbortController().signal, urgency: "refresh" } as const;

  constructor(
    { started: { host, user, password } }: Vcsim,
    settings: Readonly<Record<string, string>> = {},
    transport: Transport = systemTransport,
    files: Readonly<Record<string, string>> = {},
  ) {
    const { connected, problems } = connectCloud(
      vsphere as unknown as AnyProvider,
      {
        environment: {},
        given: new Map(),
        cluster: "test",
        inputFiles: new Map(Object.entries(files).map(([path, text]) => [path, new Secret(text)])),
        file: { server: `http://${host}`, user, password, ...settings },
      },
      {
        signal: this.#call.signal,
        clock: systemClock,
        random: systemRandom,
        mayMutate: () => ({ reason: "the provider changes nothing in vCenter." }),
        report: (call) => void this.calls.push(call),
        transport,
      },
    );
    const [source] = connected?.cloud.instances?.sources ?? [];
    if (connected === undefined || source === undefined) throw new Error(JSON.stringify(problems));
    this.cloud = connected.cloud;
    this.source = source;
  }

  async list(): Promise<readonly Instance[]> {
    const all: Instance[] = [];
    for await (const page of this.source.list(this.#call)) all.push(...page);
    return all.toSorted((one, other) => one.title.localeCompare(other.title));
  }

  async find(by: "id" | "uuid" | "name", key: string): Promise<readonly Instance[] | undefined> {
    return (await this.source.lookups?.[by]?.find([key], this.#call))?.get(key);
  }

  /** The operations since the last call. */
  takeCalls(): readonly string[] {
    return this.calls.splice(0).map(({ operation }) => operation);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cloud.close?.(this.#call);
  }
}
