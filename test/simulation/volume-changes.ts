// User changes to claims and pods, incorrect cloud responses about volumes, and claims and PersistentVolumes that vanish and
// return.

import { milliseconds, seconds } from "../../src/core/brand.ts";
import type { KubeObject } from "../../src/testing/apiserver/objects/kube-object.ts";
import { stored } from "../support/volume-binder.ts";
import type { CloudLie } from "./cloud-lies.ts";
import type { Dice, Disruption, DisruptionSource } from "./disruptions.ts";
import type { World } from "./world.ts";

/** Below the confirmation time of 30 s, even together with the longest lag. */
const longest = 18_000;
const longestLag = 10_000;

export const volumeChanges = (world: World, dice: Dice): DisruptionSource => {
  const { cloud, cloudLies, clock, history, server, volumes: known } = world;
  if (known === undefined) return { disruptions: [], stop: () => undefined };
  const { pods, invariants, snapshots } = known;
  let created = 0;
  let hasStopped = false;
  const away: (() => void)[] = [];
  /** A volume is hidden for a short time only once, because two such lies may look like two proofs. */
  const wereHidden = new Set<string>();

  const claims = (): readonly string[] => pods.binder.claims().map(({ metadata }) => metadata.name);
  const anyClaim = (): string => dice.pick(claims()) ?? "no-such-claim";
  const create = (): void => {
    for (let count = dice.count(1, 3); count > 0; count -= 1) pods.create(`claim-${created++}`);
  };
  const keep = (): void => {
    const volume = dice.pick(pods.binder.volumes());
    if (volume === undefined) return;
    history.log(`${volume.metadata.name} is to be kept`);
    pods.binder.changeVolume(volume.metadata.name, ({ spec, ...rest }) => ({
      ...rest,
      spec: { ...spec, persistentVolumeReclaimPolicy: "Retain" },
    }));
  };

  const lie = (what: CloudLie, duration: number): void => {
    if (cloudLies.volumes.isLying) return;
    history.log(`cloud: lies about volumes for ${duration / 1000} s: ${JSON.stringify(what)}`);
    cloudLies.volumes.add(what, duration);
  };
  const shortly = (): number => Math.round(dice.between(1_000, longest));
  const unseen = () => dice.pick(cloud.volumes.list().filter(({ id }) => !wereHidden.has(id)));
  const hide = (): void => {
    const volume = unseen();
    if (volume === undefined || cloudLies.volumes.isLying) return;
    wereHidden.add(volume.id);
    lie({ kind: "missing", ids: [volume.id], from: "both" }, shortly());
  };
  const hideFromOne = (): void => {
    const from = dice.chance(0.5) ? "listing" : "lookup";
    const ids = dice.some(cloud.volumes.list(), dice.count(1, 4)).map(({ id }) => id);
    lie({ kind: "missing", ids, from }, Math.round(dice.between(10_000, 300_000)));
  };
  /** The volume looks attached elsewhere, or not at all. */
  const misplace = (): void => {
    const volume = unseen();
    if (volume === undefined || cloudLies.volumes.isLying) return;
    const machine = dice.chance(0.5) ? null : (dice.pick(cloud.machines.list())?.id ?? null);
    const from = dice.pick(["both", "listing", "lookup"] as const) ?? "lookup";
    if (from === "both") wereHidden.add(volume.id);
    const duration = from === "both" ? shortly() : Math.round(dice.between(10_000, 200_000));
    lie({ kind: "altered", id: volume.id, fields: { machine }, from }, duration);
  };
  const lag = (): void =>
    lie(
      { kind: "lagging", by: Math.round(dice.between(500, longestLag)) },
      Math.round(dice.between(10_000, 300_000)),
    );
  const fault = (): void => {
    const operation =
      dice.pick([
        "POST /volumes",
        "PATCH /volumes/{id}",
        "PATCH /volumes/{id}",
        "DELETE /volumes/{id}",
        "GET /volumes/{id}",
      ] as const) ?? "PATCH /volumes/{id}";
    const planned = dice.pick([
      { kind: "lost-answer" },
      { kind: "false-error", status: 500 },
      { kind: "false-error", status: 409 },
      { kind: "status", status: 404 },
      { kind: "status", status: 423 },
      { kind: "no-effect" },
    ] as const);
    if (planned === undefined) return;
    const all = { ...planned, operation, calls: dice.count(1, 3) };
    history.log(`cloud: ${JSON.stringify(all)}`);
    cloud.faults.add(all);
  };

  /** Managers list again, so that they never see a deletion. */
  const restart = (): void => {
    server.compact();
    for (const { kube } of world.replicas) kube.cutStreams();
  };
  const vanish = (kind: "claims" | "volumes", many: boolean): void => {
    const plural = stored[kind].plural;
    const all = server.store.list(plural).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const objects = dice.some(all, many ? dice.count(3, all.length) : dice.count(1, 2));
    if (world.isHidingMany || objects.length === 0) return;
    const duration = Math.round(dice.between(2_000, 400_000));
    world.hidesMany(duration);
    history.log(
      `api server: ${plural} ${objects.map(({ metadata }) => metadata.name).join(", ")} vanish for ${duration / 1000} s`,
    );
    for (const object of objects) {
      if (kind === "claims") invariants.vanishes(object.metadata.uid);
      server.store.remove(stored[kind], object);
    }
    restart();
    let isBack = false;
    const bringBack = (): void => {
      if (isBack) return;
      isBack = true;
      history.log(`api server: ${plural} return`);
      for (const object of objects) restore(kind, object);
      restart();
    };
    away.push(bringBack);
    clock.after(milliseconds(duration), bringBack);
  };
  const restore = (kind: "claims" | "volumes", object: KubeObject): void => {
    const { uid, name, namespace } = object.metadata;
    if (server.store.get(stored[kind].plural, namespace, name) !== undefined) return;
    // The volume of the claim may be gone: a claim that uses it would wait forever.
    if (kind === "claims") invariants.returned(uid);
    server.store.put(stored[kind], object);
  };

  const leaseOf = () => server.store.get("leases", "kube-system", "cloud-controller-manager");
  /**
   * The leader is paused until its Lease expires. Another program holds the Lease for some time, after
   * which the same process may lead again.
   */
  const lendLease = (): void => {
    const { leader } = world;
    if (leader === undefined || !leader.process.isRunning) return;
    let left = dice.count(1, 80);
    history.log(`${leader.name} is paused, and another program holds the Lease for up to ${left * 5} s`);
    const version = leaseOf()?.metadata.resourceVersion;
    leader.process.pause();
    clock.after(seconds(16), () => {
      // Another fault, or the end of the faults, has resumed the process: it may lead again.
      if (hasStopped || leader.process.isRunning) return;
      leader.process.resume(dice.chance(0.5) ? "timer" : "answer");
      const before = leaseOf();
      // Another fault may have resumed the process earlier, and then the Lease is valid.
      if (before === undefined || before.metadata.resourceVersion !== version || hasStopped) return;
      const renew = (): void => {
        const isOver = left <= 0 || hasStopped;
        const renewTime = new Date(clock.now()).toISOString().replace("Z", "000Z");
        const holder = { holderIdentity: isOver ? "" : "another-program", renewTime };
        const lease = leaseOf() ?? before;
        server.store.put(stored.leases, { ...lease, spec: { ...lease.spec, ...holder } });
        left -= 1;
        if (!isOver) clock.after(seconds(5), renew);
      };
      renew();
    });
  };

  create();
  create();
  const disruptions: readonly Disruption[] = [
    { weight: 5, apply: create },
    { weight: 6, apply: () => pods.move(anyClaim()) },
    { weight: 3, apply: () => pods.delete(anyClaim()) },
    { weight: 2, apply: () => pods.grow(anyClaim()) },
    { weight: 1, apply: keep },
    { weight: 3, apply: hide },
    { weight: 3, apply: hideFromOne },
    { weight: 4, apply: misplace },
    { weight: 3, apply: lag },
    { weight: 1, apply: () => lie({ kind: "stale replica" }, shortly()) },
    { weight: 1, apply: () => lie({ kind: "repeated" }, Math.round(dice.between(1_000, 120_000))) },
    { weight: 6, apply: fault },
    { weight: 2, apply: () => vanish("claims", dice.chance(0.6)) },
    { weight: 1, apply: () => vanish("volumes", dice.chance(0.6)) },
    { weight: 3, apply: lendLease },
  ];
  return {
    disruptions,
    stop: () => {
      hasStopped = true;
      snapshots.settle();
      for (const bringBack of away) bringBack();
      // Two Nodes in each zone, because the machines may be lost or full.
      for (let index = 1; index <= 6; index += 1) world.addNode(`spare-${index}`);
    },
  };
};
