// The BIOS UUID of a machine. Its first three groups have two byte orders: that of vSphere, and the one in which kernels since
// SMBIOS 2.6 report them to kubelets. Pure.

const pattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isUUID = (text: string): boolean => pattern.test(text);

const swapBytes = (group: string): string => (group.match(/../g) ?? []).reverse().join("");

/** The same UUID in the other byte order. */
export function swapped(uuid: string): string {
  const [first = "", second = "", third = "", ...rest] = uuid.split("-");
  return [swapBytes(first), swapBytes(second), swapBytes(third), ...rest].join("-");
}

/** A value that is equal for both orders: a provider id may have either. */
export function canonical(uuid: string): string {
  const other = swapped(uuid);
  return uuid < other ? uuid : other;
}

/** ESXi begins its UUIDs with 564d, and vCenter begins its own with 42 or 50. */
const made = /^(564d|42|50)/;

/** Both orders. The first one is more likely to be that of vSphere. */
export function orders(uuid: string): readonly [string, string] {
  const other = swapped(uuid);
  return made.test(uuid) ? [uuid, other] : [other, uuid];
}
