// The machines of the simulated cloud.

export type MachineStatus = "running" | "stopped" | "terminating";

export interface SimulatedMachine {
  readonly id: string;
  readonly name: string;
  readonly status: MachineStatus;
  readonly type: string;
  readonly zone: string;
  readonly private_ip: string;
  readonly public_ip: string;
  readonly labels: Readonly<Record<string, string>>;
}

const octets = (number: number): string => `${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;

export class Machines {
  readonly #byID = new Map<string, SimulatedMachine>();
  #next = 1;
  /** Cached between changes, because every page of a listing needs it. */
  #listed: readonly SimulatedMachine[] | undefined;

  /** Names need not be unique, as in many clouds. */
  add(name: string, changes: Partial<SimulatedMachine> = {}): SimulatedMachine {
    const number = this.#next++;
    const machine: SimulatedMachine = {
      id: String(number),
      name,
      status: "running",
      type: "small-2",
      zone: `zone-${(number % 3) + 1}`,
      private_ip: `10.${octets(number)}`,
      public_ip: `100.${octets(number)}`,
      labels: {},
      ...changes,
    };
    this.#put(machine);
    return machine;
  }

  /** Changes the machine with this id, or all with this name. Returns their number. */
  setStatus(which: string, status: MachineStatus): number {
    return this.#change(which, { status });
  }

  resize(which: string, type: string): number {
    return this.#change(which, { type });
  }

  label(which: string, labels: SimulatedMachine["labels"]): number {
    return this.#change(which, { labels });
  }

  remove(which: string): number {
    const chosen = this.find(which);
    for (const { id } of chosen) this.#byID.delete(id);
    this.#listed = undefined;
    return chosen.length;
  }

  find(which: string): readonly SimulatedMachine[] {
    const byID = this.#byID.get(which);
    return byID === undefined ? this.list().filter(({ name }) => name === which) : [byID];
  }

  get(id: string): SimulatedMachine | undefined {
    return this.#byID.get(id);
  }

  has(id: string): boolean {
    return this.#byID.has(id);
  }

  list(): readonly SimulatedMachine[] {
    this.#listed ??= [...this.#byID.values()];
    return this.#listed;
  }

  #change(which: string, changes: Partial<SimulatedMachine>): number {
    const chosen = this.find(which);
    for (const machine of chosen) this.#put({ ...machine, ...changes });
    return chosen.length;
  }

  #put(machine: SimulatedMachine): void {
    this.#byID.set(machine.id, machine);
    this.#listed = undefined;
  }
}
