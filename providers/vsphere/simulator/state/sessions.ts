// The sessions of a simulated vCenter. A session ends after half an hour without a request.

import { type Milliseconds, minutes } from "#ccm";
import type { Clock } from "#ccm/testing";

interface Session {
  readonly user: string;
  readonly views: Map<string, readonly string[]>;
  lastUsed: number;
}

export class Sessions {
  /** Passwords by user. Without users, every login is valid. */
  readonly users = new Map<string, string>();
  lifetime: Milliseconds = minutes(30);
  /** A one-time ticket for a new session of a user. */
  readonly #tickets = new Map<string, string>();
  readonly #clock: Clock;
  readonly #open = new Map<string, Session>();
  #last = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The number of sessions that have not ended. */
  get size(): number {
    this.#endIdle();
    return this.#open.size;
  }

  accepts(user: string, password: string): boolean {
    return this.users.size === 0 ? user !== "" && password !== "" : this.users.get(user) === password;
  }

  open(user: string): string {
    this.#last += 1;
    // After a restart, a new session must not have the key of a former one, which its client still ends.
    const text = `session ${this.#last} of ${this.#clock.now()}`;
    const key = new Bun.CryptoHasher("sha1").update(text).digest("hex");
    this.#open.set(key, { user, views: new Map(), lastUsed: this.#clock.monotonic() });
    return key;
  }

  ticket(user: string): string {
    this.#last += 1;
    const ticket = `ticket-${this.#last}`;
    this.#tickets.set(ticket, user);
    return ticket;
  }

  /** The user of a ticket, which becomes invalid. */
  takeTicket(ticket: string): string | undefined {
    const user = this.#tickets.get(ticket);
    this.#tickets.delete(ticket);
    return user;
  }

  /** Undefined if the session has ended. */
  use(key: string): Session | undefined {
    this.#endIdle();
    const session = this.#open.get(key);
    if (session !== undefined) session.lastUsed = this.#clock.monotonic();
    return session;
  }

  end(key: string): void {
    this.#open.delete(key);
  }

  /** Ends all sessions, as a restart of vCenter does. */
  endAll(): void {
    this.#open.clear();
  }

  /** Ends the views of the sessions, which continue. */
  endViews(): void {
    for (const { views } of this.#open.values()) views.clear();
  }

  #endIdle(): void {
    const now = this.#clock.monotonic();
    for (const [key, { lastUsed }] of this.#open) if (now - lastUsed > this.lifetime) this.#open.delete(key);
  }
}
