// Plays pairs of specifications with one manager: a Service changes from the first specification to the second one, and
// another Service has the second one from the start.

import { Stage } from "../../../scripts/rehearse/stage.ts";
import { ownPrefix } from "../../../src/controllers/well-known.ts";
import type { Pair } from "../../support/service-pairs/draw.ts";
import { settled } from "../../support/service-pairs/oracle.ts";
import type { Specification } from "../../support/service-pairs/specification.ts";
import {
  type Aliases,
  type OpenedCloud,
  type OwnTexts,
  type PeerCloud,
  portAliases,
  portsPerService,
  type SeenService,
  textOf,
} from "./pair-cloud.ts";

/** The state of a Service, and of its objects in the cloud, after a specification. */
export interface Left {
  readonly view: unknown;
  readonly isServed: boolean;
  /** The messages with which the manager did not apply the whole specification. */
  readonly refusals: readonly string[];
}

export interface Played {
  readonly created: Left;
  readonly changed: Left;
  /** The second specification, with the settings that a load balancer keeps from its creation. */
  readonly reference: Specification;
  readonly alone: Left;
}

export interface PeerManager {
  readonly command: string;
  /** Whether each sync of a Service ends with an event, as with upstream's controller. */
  readonly reportsSyncs: boolean;
}

const ended = new Set(["EnsuredLoadBalancer", "SyncLoadBalancerFailed", "DeletedLoadBalancer"]);
const firstPort = 30_000;

interface Written {
  readonly own: OwnTexts;
  readonly port: number;
  readonly specification: Specification;
}

class Play {
  readonly #stage: Stage;
  readonly #cloud: OpenedCloud;
  readonly #manager: PeerManager;
  readonly #written = new Map<string, Written>();
  /** The number of each event before the last change. */
  #before = new Map<string, number>();
  #refusals = new Map<string, readonly string[]>();

  constructor(stage: Stage, cloud: OpenedCloud, manager: PeerManager) {
    this.#stage = stage;
    this.#cloud = cloud;
    this.#manager = manager;
  }

  async write(name: string, specification: Specification, later: readonly Specification[] = []) {
    const known = this.#written.get(name);
    const port = known?.port ?? firstPort + portsPerService * this.#written.size;
    const own = known?.own ?? (await this.#cloud.prepare(name, port, [specification, ...later]));
    const before = known && textOf(known.specification, port, known.own);
    this.#stage.put(name, textOf(specification, port, own), before);
    this.#written.set(name, { own, port, specification });
  }

  #events(): Map<string, number> {
    return new Map(
      [...this.#written.keys()].flatMap((name) =>
        this.#stage
          .reports(name)
          .map(
            ({ type, reason, message, count }) => [`${name} ${type} ${reason} ${message}`, count] as const,
          ),
      ),
    );
  }

  /** The events of a Service since the last change. */
  #news(name: string) {
    return this.#stage
      .reports(name)
      .filter(
        ({ type, reason, message, count }) =>
          count > (this.#before.get(`${name} ${type} ${reason} ${message}`) ?? 0),
      );
  }

  #isEnded(name: string): boolean {
    const isBalanced = this.#stage.service(name).spec.type === "LoadBalancer";
    const isNew = !this.#refusals.has(name);
    return (isNew && !isBalanced) || this.#news(name).some(({ reason }) => ended.has(reason));
  }

  /** Writes Services, and waits until the manager has applied them. Returns the state of all Services. */
  async phase(names: readonly string[], begin: () => Promise<void>): Promise<ReadonlyMap<string, Left>> {
    this.#before = this.#events();
    await begin();
    const { reportsSyncs } = this.#manager;
    const isDone = () => reportsSyncs && names.every((name) => this.#isEnded(name));
    await this.#stage.rest(isDone, 1500, reportsSyncs ? 6000 : 4000);
    const viewOf = await this.#cloud.read();
    return new Map(names.map((name) => [name, this.#left(name, viewOf(name))]));
  }

  #left(name: string, { view, aliases: seen }: SeenService): Left {
    const { metadata, status } = this.#stage.service(name);
    const { own, port, specification } = this.#written.get(name) as Written;
    const written = Object.entries(metadata.annotations ?? {}).filter(
      ([key]) => !(key in specification.annotations) && !key.startsWith(ownPrefix),
    );
    const service = {
      annotations: Object.fromEntries(written.toSorted()),
      finalizers: metadata.finalizers ?? [],
      ingress: status.loadBalancer?.ingress ?? [],
    };
    const aliases: Aliases = [
      ...seen,
      ...own.aliases,
      ...portAliases(port),
      [metadata.uid, "UID"],
      [metadata.uid.replaceAll("-", "").slice(0, 31), "UID"],
      [name, "web"],
    ];
    const refusals = this.#refused(name).map((text) => renamed(text, aliases));
    this.#refusals.set(name, refusals);
    return {
      view: JSON.parse(renamed(JSON.stringify({ cloud: view, service }), aliases)),
      isServed: service.ingress.length > 0,
      refusals,
    };
  }

  #refused(name: string): readonly string[] {
    const { spec, status } = this.#stage.service(name);
    if (!this.#manager.reportsSyncs) {
      const isServed = (status.loadBalancer?.ingress ?? []).length > 0;
      // The load balancer keeps a setting that cannot be changed; all others are applied.
      const failed = (status.conditions ?? []).filter(
        (one) => one.status === "False" && one.reason !== "ImmutableAnnotation",
      );
      return [
        ...failed.map(({ reason, message }) => `${reason} ${message}`),
        ...(spec.type === "LoadBalancer" && !isServed ? ["has no address"] : []),
      ];
    }
    const news = this.#news(name);
    if (news.some(({ reason }) => reason === "EnsuredLoadBalancer" || reason === "DeletedLoadBalancer"))
      return [];
    const failed = news.filter(({ reason }) => reason === "SyncLoadBalancerFailed");
    // Without a sync, nothing has changed for the manager.
    return failed.length === 0
      ? (this.#refusals.get(name) ?? [])
      : failed.slice(-1).map(({ message }) => message);
  }
}

/** In one pass, because an alias can be the text of another one. */
function renamed(text: string, aliases: Aliases): string {
  const all = new Map(aliases.filter(([from]) => from !== ""));
  const pattern = [...all.keys()].map((from) => RegExp.escape(from)).join("|");
  return text.replaceAll(new RegExp(pattern, "g"), (found) => all.get(found) ?? found);
}

export const nameOf = ({ seed }: Pair, kind: "changed" | "alone"): string => `p${seed}${kind[0]}`;

/** The result of each pair, by seed, in the cloud with this number. */
export async function playPairs(
  cloud: PeerCloud,
  number: number,
  manager: PeerManager,
  pairs: readonly Pair[],
): Promise<ReadonlyMap<number, Played>> {
  const opened = await cloud.open(number);
  await using cleanUp = new AsyncDisposableStack();
  cleanUp.defer(async () => opened.dispose?.());
  const stage = cleanUp.use(await Stage.open(opened.definition));
  // By default, the Go manager sends 20 requests per second to Kubernetes.
  stage.start(`${manager.command} --kube-api-qps=1000 --kube-api-burst=1000`);
  await stage.createServices();
  stage.label(opened.labeled, { pool: "web" });
  const play = new Play(stage, opened, manager);
  const changing = pairs.map((pair) => nameOf(pair, "changed"));
  const created = await play.phase(changing, async () => {
    for (const pair of pairs) await play.write(nameOf(pair, "changed"), pair.first, [pair.second]);
  });
  const references = new Map(
    pairs.map(({ seed, first, second }) => {
      const isServed = created.get(`p${seed}c`)?.isServed === true;
      return [seed, isServed ? settled(second, first, cloud.vocabulary) : second] as const;
    }),
  );
  const names = [...changing, ...pairs.map((pair) => nameOf(pair, "alone"))];
  const left = await play.phase(names, async () => {
    for (const pair of pairs) {
      await play.write(nameOf(pair, "changed"), pair.second);
      await play.write(nameOf(pair, "alone"), references.get(pair.seed) ?? pair.second);
    }
  });
  const known = <T>(one: T | undefined): T => {
    if (one === undefined) throw new Error("Expected the state of each Service.");
    return one;
  };
  return new Map(
    pairs.map((pair) => [
      pair.seed,
      {
        created: known(created.get(nameOf(pair, "changed"))),
        changed: known(left.get(nameOf(pair, "changed"))),
        reference: known(references.get(pair.seed)),
        alone: known(left.get(nameOf(pair, "alone"))),
      },
    ]),
  );
}
