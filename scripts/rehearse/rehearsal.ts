// A rehearsal of the change from a Go manager to Fairlead and back, on one stage.

import { join } from "node:path";
import type { RehearsalDefinition } from "./cloud.ts";
import { type Deeds, Stage } from "./stage.ts";
import { differences } from "./state.ts";

export const fairlead = `${process.execPath} ${join(import.meta.dir, "fairlead.ts")}`;

export interface Act extends Deeds {
  readonly title: string;
  /** The differences of Services, Nodes, load balancers and routes from their state before the act. */
  readonly differences: readonly string[];
}

export interface RehearsalOptions {
  readonly cloud: RehearsalDefinition;
  readonly peer: string;
  /** Whether users change Services with each manager, and the peer takes over again. */
  readonly isWhole: boolean;
  readonly report: (act: Act) => void;
}

/** Returns the act in which Fairlead took over. Without a fault, it has no change, write or difference. */
export async function rehearse({ cloud, peer, isWhole, report }: RehearsalOptions): Promise<Act> {
  await using stage = await Stage.open(cloud);
  const play = async (title: string, start: () => void | Promise<void>): Promise<Act> => {
    const before = await stage.state();
    await start();
    await stage.settle();
    const act = { title, ...stage.deeds(), differences: differences(before, await stage.state()) };
    report(act);
    return act;
  };
  await play("the peer creates everything", async () => {
    stage.start(peer);
    await stage.createServices();
  });
  if (isWhole) await play("the peer, after changes of users", () => stage.change(0));
  await stage.stop();
  const takeOver = await play("Fairlead takes over", () => stage.start(fairlead));
  if (!isWhole) return takeOver;
  await play("Fairlead, after changes of users", () => stage.change(1));
  await stage.stop();
  await play("the peer takes over again", () => stage.start(peer));
  await play("the peer, after changes of users", () => stage.change(2));
  return takeOver;
}

export const isClean = ({ changes, writes, differences: found }: Act): boolean =>
  changes.length + writes.length + found.length === 0;
