// The cloud's catalog: locations, server types and load balancer types. Prices are examples.

export interface Location {
  readonly id: number;
  readonly name: string;
  readonly description: string;
  readonly country: string;
  readonly city: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly network_zone: string;
}

const location = (
  id: number,
  name: string,
  network_zone: string,
  [description, country, city]: readonly [string, string, string],
  [latitude, longitude]: readonly [number, number],
): Location => ({ id, name, description, country, city, latitude, longitude, network_zone });

export const locations: readonly Location[] = [
  location(1, "fsn1", "eu-central", ["Falkenstein DC Park 1", "DE", "Falkenstein"], [50.47612, 12.370071]),
  location(2, "nbg1", "eu-central", ["Nuremberg DC Park 1", "DE", "Nuremberg"], [49.452102, 11.076665]),
  location(3, "hel1", "eu-central", ["Helsinki DC Park 1", "FI", "Helsinki"], [60.169855, 24.938379]),
  location(4, "ash", "us-east", ["Ashburn, VA", "US", "Ashburn, VA"], [39.045821, -77.487073]),
  location(5, "hil", "us-west", ["Hillsboro, OR", "US", "Hillsboro, OR"], [45.54222, -122.951924]),
  location(6, "sin", "ap-southeast", ["Singapore", "SG", "Singapore"], [1.283333, 103.833333]),
];

const price = (net: string) => ({ net, gross: net });

const prices = (hourly: string) =>
  locations.map(({ name }) => ({
    location: name,
    price_hourly: price(hourly),
    price_monthly: price("5.0000000000"),
    included_traffic: 21_990_232_555_520,
    price_per_tb_traffic: price("1.0000000000"),
  }));

const serverType = (
  id: number,
  name: string,
  [cores, memory, disk]: readonly [number, number, number],
  { architecture = "x86", cpu_type = "shared" } = {},
) => ({
  id,
  name,
  description: name.toUpperCase(),
  category: cpu_type === "shared" ? "cost_optimized" : "general_purpose",
  cores,
  memory,
  disk,
  architecture,
  cpu_type,
  storage_type: "local",
  deprecated: false,
  deprecation: null,
  locations: locations.map((each) => ({
    id: each.id,
    name: each.name,
    deprecation: null,
    available: true,
    recommended: true,
  })),
  prices: prices("0.0080000000"),
});
export type ServerType = ReturnType<typeof serverType>;

export const serverTypes: readonly ServerType[] = [
  serverType(104, "cx22", [2, 4, 40]),
  serverType(114, "cx23", [2, 4, 40]),
  serverType(22, "cpx11", [2, 2, 40]),
  serverType(45, "cax11", [2, 4, 40], { architecture: "arm" }),
  serverType(96, "ccx13", [2, 8, 80], { cpu_type: "dedicated" }),
];

const loadBalancerType = (
  id: number,
  name: string,
  [services, targets, certificates, connections]: readonly [number, number, number, number],
) => ({
  id,
  name,
  description: name.toUpperCase(),
  max_connections: connections,
  max_services: services,
  max_targets: targets,
  max_assigned_certificates: certificates,
  deprecated: null,
  prices: prices("0.0090000000"),
});
export type LoadBalancerType = ReturnType<typeof loadBalancerType>;

export const loadBalancerTypes: readonly LoadBalancerType[] = [
  loadBalancerType(1, "lb11", [5, 25, 10, 10_000]),
  loadBalancerType(2, "lb21", [15, 75, 25, 20_000]),
  loadBalancerType(3, "lb31", [30, 150, 50, 40_000]),
];

/** The entry with this id or name, as requests name it. */
export function findOffer<T extends { readonly id: number; readonly name: string }>(
  offers: readonly T[],
  which: string,
): T | undefined {
  return offers.find(({ id, name }) => name === which || String(id) === which);
}

/** An entry that must exist: it was checked when the reference was stored. */
export function offer<T extends { readonly id: number; readonly name: string }>(
  offers: readonly T[],
  name: string,
): T {
  const found = findOffer(offers, name);
  if (found === undefined) throw new Error(`The simulated cloud does not offer ${name}.`);
  return found;
}
