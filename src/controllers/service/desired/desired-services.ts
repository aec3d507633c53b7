// Computes the complete desired state of a Service from its cloud objects: annotations, targets and facts. If the Service
// no longer needs a load balancer, the desired state is the removal.

import { serviceUID } from "../../../core/brand.ts";
import { defined } from "../../../core/defined.ts";
import type { Problem } from "../../../core/problem.ts";
import type { Fields } from "../../../core/settings.ts";
import type { Service } from "../../../kube/objects.ts";
import type { ObservedLoadBalancer } from "../../../provider/load-balancers.ts";
import {
  mergeObserved,
  otherControllerWith,
  type ReadAnnotations,
  readAnnotations,
  unreadable,
} from "../annotations/annotations.ts";
import { RememberedRanges, type SourceRanges } from "../annotations/source-ranges.ts";
import {
  honorsAddress,
  ignoredAddress,
  ignoredAnnotations,
  ineffectiveAnnotations,
  unsupportedRequests,
} from "../annotations/without-effect.ts";
import type { AnyBalancers, Desired, ServiceControllerDeps } from "../deps.ts";
import { isEnding } from "../predicates.ts";
import type { LastValid, ServiceState } from "../state/service-record.ts";
import type { ServiceRecords } from "../state/service-records.ts";
import { addressesOf } from "../status/status.ts";
import type { TargetPolicy } from "../targets/choose-targets.ts";
import { type TargetHistory, Targets } from "../targets/service-targets.ts";
import { readFacts } from "./facts.ts";
import type { Member } from "./member.ts";
import {
  deletionOnHold,
  type OnDelete,
  onDeleteToRemember,
  readOnDelete,
  releaseUnsupported,
} from "./on-delete.ts";
import {
  holdImmutable,
  type ImmutableSettings,
  lastValidSettings,
  requestedAddressOf,
  serviceProblems,
  toDesired,
  validRanges,
} from "./to-desired.ts";

/** The content of a Service, independent of the cloud and of earlier valid values. */
interface ParsedService {
  readonly read: ReadAnnotations<Fields>;
  readonly ranges: SourceRanges;
  readonly onDelete: OnDelete;
  readonly problems: readonly Problem[];
  /** The desired state without targets, with the settings as written. */
  readonly desired: Desired;
}

/** A Service with its cloud objects. */
interface ReadService extends Omit<ParsedService, "ranges"> {
  readonly service: Service;
  readonly state: ServiceState;
  readonly immutable: ImmutableSettings<Fields>;
  /** True if a setting or all source ranges are invalid, and the current value is unknown. */
  readonly isUnreadable: boolean;
  readonly observed: ObservedLoadBalancer | undefined;
  readonly hasBalancer: boolean;
  /** The current valid values, or the last valid ones. */
  readonly lastValid: Pick<LastValid, "lastSettings" | "lastRanges">;
  /** The desired state without targets. Current values replace invalid settings and ranges. */
  readonly desired: Desired;
}

export class DesiredServices {
  readonly targets: Targets;
  readonly #deps: ServiceControllerDeps;
  readonly #records: ServiceRecords;
  /** By version of the Service, because each change creates a new object. */
  readonly #parsed = new WeakMap<Service, ParsedService>();
  readonly #ranges = new RememberedRanges();
  readonly #canRelease: boolean;
  readonly #honorsAddress: boolean;

  constructor(deps: ServiceControllerDeps, history: TargetHistory & { readonly records: ServiceRecords }) {
    this.#deps = deps;
    this.#records = history.records;
    this.targets = new Targets(deps, history);
    this.#canRelease = deps.balancers.supports?.includes("release") === true;
    this.#honorsAddress = honorsAddress(deps.facts, deps.balancers.supports);
  }

  of(service: Service, observed?: ObservedLoadBalancer): Member {
    const read = this.#read(service, observed);
    const ends = isEnding(service, this.#deps.classes, { hasBalancer: read.hasBalancer });
    const isOthers = otherControllerWith(this.#deps.annotations, read.desired.settings) !== undefined;
    const member = ends ? leavingMember(read) : isOthers ? idleMember(read) : this.#servedMember(read);
    const onDelete = onDeleteToRemember(read.onDelete, member.desired);
    const said = { ...read.lastValid, lastTargetRules: member.rules, onDelete };
    this.#records.noteRead(read.state.uid, said, { isServed: !ends });
    return member;
  }

  /** Undefined if the provider cannot read the Service. */
  tryOf(service: Service, observed?: ObservedLoadBalancer): Member | undefined {
    try {
      return this.of(service, observed);
    } catch {
      return undefined;
    }
  }

  /** The known problems of the Service, even if other steps fail. */
  problemsOf(service: Service): readonly Problem[] {
    return this.tryOf(service)?.problems ?? [];
  }

  /** A change of a Service leads to several computations, most of whose inputs depend only on the Service. */
  #parse(service: Service): ParsedService {
    const known = this.#parsed.get(service);
    if (known !== undefined) return known;
    const { annotations, facts } = this.#deps;
    const read = readAnnotations(annotations, service);
    const { settings, own } = read;
    const ranges = this.#ranges.of(service, this.#records.of(service));
    const parsed: ParsedService = {
      read,
      ranges,
      onDelete: readOnDelete(service, own, { canRelease: this.#canRelease }),
      problems: [...serviceProblems(service, ranges), ...ignoredAnnotations(service, own)],
      desired: toDesired({
        service,
        settings,
        facts: readFacts(service, facts),
        targets: [],
        sourceRanges: ranges.isSpecified ? ranges.ranges : undefined,
      }),
    };
    this.#parsed.set(service, parsed);
    return parsed;
  }

  #read(service: Service, observed: ObservedLoadBalancer | undefined): ReadService {
    const { annotations, balancers } = this.#deps;
    const state = this.#records.of(service);
    const uid = serviceUID(service.metadata.uid);
    const { ranges: written, ...parsed } = this.#parse(service);
    const { read } = parsed;
    const current = observed && balancers.settingsOf?.(observed, uid, addressesOf(service));
    const immutable = holdImmutable(annotations, read, current);
    const { last: lastSettings, missing } = lastValidSettings(state.said, read, current);
    const known = observed && { ...current, ...missing };
    const { last: lastRanges, ranges } = validRanges(state.said, written, () =>
      observed?.owners.includes(uid) === true ? balancers.rangesOf?.(observed, uid) : undefined,
    );
    const sourceRanges = ranges === "unknown" ? [] : ranges;
    const areUnknown = unreadable(read.frozen, known).length > 0 || ranges === "unknown";
    const settings = mergeObserved(immutable.settings, read.frozen, known);
    return {
      ...parsed,
      service,
      state,
      immutable,
      isUnreadable: observed !== undefined && areUnknown,
      observed,
      hasBalancer: observed?.owners.includes(uid) === true,
      lastValid: { lastSettings, lastRanges },
      desired: { ...parsed.desired, settings, sourceRanges },
    };
  }

  #servedMember({
    service,
    state,
    read,
    immutable,
    problems: own,
    isUnreadable,
    observed,
    desired: untargeted,
  }: ReadService): Member {
    const { balancers } = this.#deps;
    const cloud = targetsOfCloud(balancers, untargeted, observed);
    const chosen = this.targets.choose(service, state, read, cloud);
    const gone = chosen.targets.filter((target) => this.targets.isGone(target));
    const desired: Desired = {
      ...untargeted,
      targets: gone.length === 0 ? chosen.targets : chosen.targets.filter((one) => !gone.includes(one)),
      ...(chosen.rules?.policy === "endpoints" && { targetsHaveEndpoints: true }),
    };
    const cannotRelease = read.own.values["on-delete"] === "release" && !this.#canRelease;
    const problems = [
      ...read.problems,
      ...immutable.problems,
      ...chosen.problems,
      ...own,
      ...ineffectiveAnnotations(this.#deps.annotations, read.written, desired.settings),
      ...unsupportedRequests(desired, balancers.supports),
      ...(this.#honorsAddress ? [] : ignoredAddress(requestedAddressOf(service), service)),
      ...(cannotRelease ? [releaseUnsupported] : []),
    ];
    return defined({
      service,
      rules: chosen.rules,
      desired,
      gone,
      problems,
      isAwaited: chosen.isAwaited,
      isBlocked: chosen.rules === undefined || isUnreadable,
      isOnHold: false,
      changeAt: chosen.changeAt,
    });
  }
}

/** The cloud's limits on the targets of this load balancer. */
function targetsOfCloud(
  balancers: AnyBalancers,
  desired: Desired,
  observed: ObservedLoadBalancer | undefined,
): Pick<TargetPolicy, "cloudLimit" | "reach"> {
  const cloudLimit = balancers.targetLimit?.(desired, observed);
  return defined({ cloudLimit, reach: balancers.reaches?.(desired, observed) });
}

/** A Service that needs no targets, and whose problems do not matter. */
const idleMember = ({ service, desired }: ReadService): Member => ({
  service,
  desired,
  gone: [],
  problems: [],
  isAwaited: false,
  isBlocked: false,
  isOnHold: false,
});

function leavingMember(read: ReadService): Member {
  const { desired, hasBalancer, onDelete } = read;
  const held = hasBalancer && onDelete.kind === "on hold" ? onDelete : undefined;
  return {
    ...idleMember(read),
    desired: { ...desired, ending: onDelete.kind === "release" ? onDelete.kind : "delete" },
    problems: held === undefined ? [] : [deletionOnHold(held)],
    isOnHold: held !== undefined,
  };
}
