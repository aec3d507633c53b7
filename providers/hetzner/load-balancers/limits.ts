// What each type of load balancer accepts. The API reports it for existing load balancers only. Pure.

interface Limits {
  readonly targets: number;
  readonly services: number;
}

const limits: Readonly<Record<string, Limits>> = {
  lb11: { targets: 25, services: 5 },
  lb21: { targets: 75, services: 15 },
  lb31: { targets: 150, services: 30 },
};

/** How many ports this type accepts; undefined for a type that only the cloud knows. */
export const portLimit = (type: string): number | undefined => limits[type]?.services;

export const fitsType = (type: string, ports: number): boolean => ports <= (portLimit(type) ?? ports);

/** While the type changes, both limits hold. Unknown types are limited by the cloud. */
export function targetLimit(
  type: string | undefined,
  observed: { readonly max_targets: number } | undefined,
): number | undefined {
  const ofType = type === undefined && observed !== undefined ? undefined : limits[type ?? "lb11"]?.targets;
  const limit = Math.min(
    ofType ?? Number.POSITIVE_INFINITY,
    observed?.max_targets ?? Number.POSITIVE_INFINITY,
  );
  return Number.isFinite(limit) ? limit : undefined;
}
