// Everything that one environment of Rancher has.

import type { Milliseconds } from "#ccm";
import type { Clock } from "#ccm/testing";
import { Refusal } from "../refusal.ts";
import { Hosts } from "./hosts.ts";
import { Services } from "./services.ts";

export interface Named {
  readonly id: string;
  readonly name: string;
  /** Set only for stacks. */
  readonly externalId?: string | null;
}

export class Environment {
  readonly hosts = new Hosts();
  readonly services: Services;
  readonly stacks: Named[] = [];
  readonly certificates: Named[] = [];
  /** Settings by name, with the values of the server. */
  readonly settings = new Map([["lb.instance.image", "rancher/lb-service-haproxy:v0.9.14"]]);
  /** The environments that the key can read. */
  readonly projects: Named[] = [{ id: "1a5", name: "Default" }];

  readonly clock: Clock;

  constructor(clock: Clock, time: Milliseconds) {
    this.clock = clock;
    this.services = new Services(clock, this.hosts, time);
  }

  addStack(name: string, externalId: string | null = null): Named {
    if (this.stacks.some((stack) => stack.name.toLowerCase() === name.toLowerCase()))
      throw new Refusal("NotUnique", "Stack name is not unique", "name");
    const stack = { id: `1st${this.stacks.length + 1}`, name, externalId };
    this.stacks.push(stack);
    return stack;
  }

  addCertificate(name: string): Named {
    const certificate = { id: `1c${this.certificates.length + 1}`, name };
    this.certificates.push(certificate);
    return certificate;
  }
}
