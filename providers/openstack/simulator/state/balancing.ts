// The load balancers of Octavia with their parts. Each change makes a load balancer PENDING for
// some time, in which it is immutable.

import { type Clock, Records, Refused } from "#ccm/testing";
import type { Project } from "./project.ts";
import type { Balancer, Listener, Monitor, Pool } from "./records.ts";

export class Balancing {
  readonly balancers: Records<Balancer>;
  readonly listeners: Records<Listener>;
  readonly pools: Records<Pool>;
  readonly monitors: Records<Monitor>;
  readonly project: Project;
  /** The load balancer quota. */
  limit = Number.POSITIVE_INFINITY;
  /** The health monitor result of a pool member. A test may replace it. */
  health: (address: string, port: number) => "ONLINE" | "ERROR" = () => "ONLINE";
  /** The number of load balancers, from the next one, whose creation ends with ERROR. */
  failures = 0;

  constructor(clock: Clock, project: Project) {
    this.project = project;
    this.balancers = new Records(clock);
    this.listeners = new Records(clock);
    this.pools = new Records(clock);
    this.monitors = new Records(clock);
  }

  /** Rejects a change of a load balancer that is not ACTIVE, and otherwise makes it PENDING. */
  begin(id: string): Balancer {
    const balancer = this.balancers.withID(id);
    if (balancer.provisioning_status !== "ACTIVE")
      throw new Refused(409, `Load Balancer ${id} is immutable and cannot be updated.`);
    const pending = this.balancers.change(id, { provisioning_status: "PENDING_UPDATE" });
    this.#later(id, "ACTIVE");
    return pending;
  }

  add(balancer: Balancer): Balancer {
    const ends = this.failures > 0 ? "ERROR" : "ACTIVE";
    this.failures = Math.max(0, this.failures - 1);
    this.balancers.put(balancer);
    this.#later(balancer.id, ends);
    return balancer;
  }

  #later(id: string, provisioning_status: string): void {
    const { later, times } = this.project;
    later.add(times.balancer, () => {
      if (this.balancers.get(id)?.provisioning_status.startsWith("PENDING_") === true)
        this.balancers.change(id, { provisioning_status });
    });
  }

  /** Removes the load balancer later, with its parts and its port. */
  delete(id: string, isCascading: boolean): void {
    const { provisioning_status: status, vip_port_id } = this.balancers.withID(id);
    if (status.startsWith("PENDING_"))
      throw new Refused(409, `Load Balancer ${id} is immutable and cannot be updated.`);
    const hasParts = [...this.listeners.list(), ...this.pools.list()].some(({ balancer }) => balancer === id);
    if (hasParts && !isCascading)
      throw new Refused(400, `Cannot delete Load Balancer ${id} - it has children`);
    this.balancers.change(id, { provisioning_status: "PENDING_DELETE" });
    const { later, times, ports, floatingIPs } = this.project;
    later.add(times.balancer, () => {
      for (const pool of this.pools.list()) if (pool.balancer === id) this.removePool(pool.id);
      for (const listener of this.listeners.list())
        if (listener.balancer === id) this.listeners.remove(listener.id);
      for (const { id: floating, port_id } of floatingIPs.list())
        if (port_id === vip_port_id) floatingIPs.change(floating, { port_id: null, fixed_ip_address: null });
      if (ports.get(vip_port_id)?.device_owner === "Octavia") ports.remove(vip_port_id);
      this.balancers.remove(id);
    });
  }

  removePool(id: string): void {
    for (const monitor of this.monitors.list()) if (monitor.pool === id) this.monitors.remove(monitor.id);
    for (const listener of this.listeners.list())
      if (listener.default_pool_id === id) this.listeners.change(listener.id, { default_pool_id: null });
    this.pools.remove(id);
  }
}
