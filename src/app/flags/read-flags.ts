// Reads the flags from the command line, the configuration file and the compatibility profile, and reports every
// problem with its position.

import type { RawSection } from "../../config-file/parse-configuration.ts";
import type { Place, Problem } from "../../core/problem.ts";
import { readSettings } from "../../core/read-settings.ts";
import type { Secret } from "../../core/secret.ts";
import type { Fields } from "../../core/settings.ts";
import type { SecretName } from "../../provider/inputs.ts";
import { type ControllerName, chooseControllers } from "./controller-names.ts";
import { type ControllerSettings, controllerSettings } from "./controller-settings.ts";
import { electionProblems } from "./election-timing.ts";
import { gateProblems } from "./feature-gates.ts";
import {
  flagWarnings,
  type RawFlags,
  removedFlags,
  tracingProblems,
  withoutEmptyStrings,
} from "./flag-problems.ts";
import { type Flags, flagFields, flagShapes, shapesOf, upstreamProfile } from "./flag-table.ts";
import { ownFields } from "./groups/fairlead.ts";
import { parseFlags } from "./pflag.ts";
import { type FlagsOfProvider, providerFlags, recordProblems } from "./provider-flags.ts";

export interface FlagSources {
  readonly provider?: FlagsOfProvider;
  /** Flags from the configuration file; the command line takes precedence. */
  readonly file?: { readonly path: string; readonly flags: RawSection } | undefined;
}

/** Cloud settings from all sources except the environment. */
export interface CloudSources {
  /** Settings from flags, which take precedence over all other sources. */
  readonly given: ReadonlyMap<string, string>;
  /** Settings from files; the environment takes precedence. */
  readonly file?: Readonly<Record<string, string>>;
  /** The position of each setting in a file, as `path:line:column`. */
  readonly places?: ReadonlyMap<string, Place>;
  /** The names that the cloud's configuration file uses for settings and sections, if they differ. */
  readonly titles?: ReadonlyMap<string, string>;
  /** The names in lines of that file that could not be parsed. */
  readonly unread?: readonly string[];
  /** Content of the files that settings name, by path. */
  readonly inputFiles?: ReadonlyMap<string, Secret>;
  /** The Secrets in the cluster that the provider needs. */
  readonly inputSecrets?: readonly SecretName[];
}

export interface ReadFlags extends Omit<ControllerSettings, "problems"> {
  readonly flags: Flags;
  /** The flags of the command line, as text. */
  readonly given: RawFlags;
  /** Cloud settings that flags set. */
  readonly cloud: CloudSources;
  readonly controllers: ReadonlySet<ControllerName>;
  readonly positional: readonly string[];
  readonly problems: readonly Problem[];
}

export function readFlags(args: readonly string[], { provider = {}, file }: FlagSources = {}): ReadFlags {
  const own = providerFlags(provider);
  const fields: Fields = { ...own.fields, ...flagFields };
  const parsed = parseFlags(args, { ...shapesOf(own.fields), ...flagShapes }, removedFlags);
  const given = withoutEmptyStrings(fields, { ...file?.flags.raw, ...parsed.raw });
  const problems = [...parsed.problems, ...flagWarnings(fields, given)];
  const dashed = Object.fromEntries(
    // The profile only provides defaults; flags that are set explicitly take precedence.
    Object.entries({ ...defaultsFor(provider, given), ...given }).flatMap(([name, value]) =>
      Object.hasOwn(own.fields, name) && !Object.hasOwn(flagFields, name) ? [] : [[`--${name}`, value]],
    ),
  );
  const read = readSettings(flagFields, dashed, { prefix: "--", what: "flag" });
  problems.push(...read.problems);
  // Observe mode needs no Lease, because it runs next to the manager that holds the Lease.
  const needsNoLease = read.values.mode === "observe" && given["leader-elect"] === undefined;
  const flags: Flags = needsNoLease ? { ...read.values, "leader-elect": false } : read.values;
  problems.push(...gateProblems(flags["feature-gates"] ?? new Map(), flags["strict-feature-gates"]));
  problems.push(...recordProblems(provider, flags["config-set"]));

  const { problems: ofSettings, ...settings } = controllerSettings(flags);
  problems.push(...ofSettings);
  problems.push(...electionProblems(flags), ...tracingProblems(flags));
  const { enabled: controllers, problems: ofControllers } = chooseControllers(flags.controllers);
  problems.push(...ofControllers);
  const cloud = {
    given: new Map([
      ...Object.entries(own.settingsOf(withoutEmptyStrings(fields, parsed.raw))),
      ...(flags["config-set"] ?? []),
    ]),
  };
  const withPlace = (problem: Problem): Problem => {
    const name = problem.key?.slice(2) ?? "";
    if (Object.hasOwn(parsed.raw, name)) return problem;
    const place = file?.flags.places.get(name);
    if (file !== undefined && place !== undefined)
      return { ...problem, place: { file: file.path, ...place } };
    const isPreset = Object.hasOwn(provider.presets ?? {}, name);
    return isPreset
      ? { ...problem, text: `Preset of the provider ${provider.name}: ${problem.text}` }
      : problem;
  };
  return {
    flags,
    given: parsed.raw,
    cloud,
    ...settings,
    controllers,
    positional: parsed.positional,
    problems: problems.map(withPlace),
  };
}

/** A cloud's Go manager overrides some of upstream's defaults, so its defaults take precedence over the profile. */
function defaultsFor({ presets = {} }: FlagsOfProvider, { compatibility }: RawFlags): RawFlags {
  if (compatibility !== "upstream") return presets;
  const isOwn = ([name]: readonly [string, string]): boolean => Object.hasOwn(ownFields, name);
  const ofUpstream = Object.fromEntries(Object.entries(presets).filter((preset) => !isOwn(preset)));
  return { ...upstreamProfile, ...ofUpstream };
}
