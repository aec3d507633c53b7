// The projects and regions whose servers are Nodes: the scope of [Global], and the scopes of the sections [Scope "name"].

import { type Context, type Problem, settingError } from "#ccm";
import { serversApi } from "./api.ts";
import type { ServerPlace } from "./instances.ts";
import { regionOf } from "./keystone.ts";
import { access, type Scope, type Settings, sectionOf, usesClouds } from "./settings.ts";

/** The name of the source that lists the [Global] servers. Load balancers, routes and volumes use this source. */
export const mainSource = ({ scopes }: Settings): string => (scopes.length === 0 ? "servers" : "Global");

/** The settings in [Global] that apply to every cloud in clouds.yaml. */
const shared = ["os-endpoint-type", "ca-file", "cert-file", "key-file", "tls-insecure", "clouds-file"];

/** Another cloud does not use the credentials of [Global]. */
function scopeSettings(settings: Settings, { region, cloud, "tenant-id": project }: Scope): Settings {
  if (cloud === undefined) {
    const own = { region: region ?? settings.region, "tenant-id": project ?? settings["tenant-id"] };
    return { ...settings, ...own };
  }
  const left = Object.keys(access).filter((name) => !shared.includes(name));
  const none = Object.fromEntries(left.map((name) => [name, undefined]));
  return { ...settings, ...none, cloud, region };
}

/** The place of [Global], followed by those of the sections. */
export function placesOf(settings: Settings, context: Context): readonly [ServerPlace, ...ServerPlace[]] {
  const placeOf = (name: string, own: Settings, scope?: string): ServerPlace => {
    const region = regionOf(own, context.inputs);
    return { name, settings: own, region, api: serversApi(own, context, scope) };
  };
  const others = settings.scopes.map((one) => placeOf(one.name, scopeSettings(settings, one), one.name));
  return [placeOf(mainSource(settings), settings), ...others];
}

/** A key of the section, and its problem. */
function wrongIn(settings: Settings, scope: Scope): readonly [keyof Scope, string] | undefined {
  const { name, region, cloud, "tenant-id": project } = scope;
  if (name === mainSource(settings)) return ["name", "has the name of [Global] in messages. Rename it"];
  if ((region ?? cloud ?? project) === undefined) {
    const text =
      "sets no region, tenant-id or cloud, so it has the same servers as [Global]. Set one, or remove the section";
    return ["name", text];
  }
  if (project === undefined) return undefined;
  if (cloud !== undefined)
    return ["tenant-id", "sets both cloud and tenant-id, and cloud has a project. Remove tenant-id"];
  const { password, "application-credential-secret": secret, "trust-id": trust } = settings;
  if (password !== undefined && secret === undefined && trust === undefined && !usesClouds(settings))
    return undefined;
  const text =
    "sets tenant-id, but only a user with a password in [Global] can choose a project. Set cloud instead, with other credentials in clouds.yaml";
  return ["tenant-id", text];
}

const problemIn = (index: number, key: keyof Scope, text: string): Problem =>
  settingError(`scopes[${index}].${key}`, text);

/** Sections with the same target as [Global] or an earlier section. `targets` begins with the target of [Global]. */
export function repeatedScopes({ scopes }: Settings, targets: readonly string[]): readonly Problem[] {
  const titles = ["[Global]", ...scopes.map(({ name }) => sectionOf(name))];
  return targets.flatMap((target, index) => {
    const first = targets.indexOf(target);
    if (first === index) return [];
    const text = `${titles[index]} leads to the project and region of ${titles[first]}, so each server there is found twice, and its Node stays as it is. Correct region, tenant-id or cloud of the section, or remove it.`;
    return problemIn(index - 1, "name", text);
  });
}

/** Sections that cannot be used. Pure. */
export function scopeProblems(settings: Settings): readonly Problem[] {
  const { scopes } = settings;
  const wrong = scopes.flatMap((scope, index) => {
    const [key, text] = wrongIn(settings, scope) ?? [];
    return key === undefined ? [] : problemIn(index, key, `${sectionOf(scope.name)} ${text}`);
  });
  const all = [settings, ...scopes.map((scope) => scopeSettings(settings, scope))];
  const targets = all.map(({ cloud, region, "tenant-id": id }) => JSON.stringify([cloud, region, id]));
  return wrong.length > 0 ? wrong : repeatedScopes(settings, targets);
}
