// The number of volumes that an instance can have, by its type: the numbers of the Go driver, and smaller ones for a few
// types. Pure.

/** Instances without NVMe. */
const withoutNVMe = /^(c[134]|d2|h1|i[23]|m[1-4]|r[34]|t[12]|x1e?)\./;

/** Types with places for volumes only. For all other types, network interfaces and local disks use the same slots. */
const dedicated =
  /^([cmr]7[ai](-flex)?|r7iz|[cimrx][89][a-z]*(-flex)?|i7ie?|f2|gr?6[ef]?|g7e?|hpc[78]a|p4de?|p5(e|en)?|p6-b\d+|trn2|u7in?-\d+tb)\./;

/** The slots by instance size; 32 for smaller instances. */
const placesOfSize: Readonly<Record<string, number>> = {
  "16xlarge": 48,
  "18xlarge": 48,
  "24xlarge": 64,
  "32xlarge": 88,
  "48xlarge": 128,
  "64xlarge": 128,
  "96xlarge": 128,
  "112xlarge": 128,
  "224xlarge": 128,
  "metal-16xl": 39,
  "metal-24xl": 39,
  "metal-32xl": 79,
  "metal-48xl": 64,
  "metal-96xl": 78,
};

/** Families and sizes with fewer slots. */
const exceptions: readonly (readonly [types: RegExp, places: number])[] = [
  [/^hpc[78]a\./, 27],
  [/^p4de?\./, 28],
  [/^(p5\w*|p6-b\d+|trn2)\.48xlarge$/, 64],
  [/^(d3\.8xlarge|d3en\.12xlarge)$/, 3],
  [/^g5\.48xlarge$/, 9],
  [/^(mac(1|2.*|-m3ultra|-m4max))\.metal$/, 10],
  [/^(d3en\.8xlarge|inf1\.24xlarge)$/, 11],
  [/^(d3\.4xlarge|d3en\.6xlarge)$/, 15],
  [/^(p3dn\.24xlarge|d3en\.4xlarge|dl2q\.24xlarge|i3en\.24xlarge|i4i\.32xlarge)$/, 17],
  [
    /^(d3\.xlarge|d3en\.2xlarge|im4gn\.16xlarge|is4gen\.8xlarge|inf1\.6xlarge|vt1\.6xlarge|g4ad\.8xlarge)$/,
    23,
  ],
  [/^(d3en|g4ad|g4dn|g5|i3en|trn1|vt1)\.[23]?xlarge$/, 25],
  [/^(d3\.2xlarge|g4ad\.16xlarge|i4i\.24xlarge|g4dn\.12xlarge|g5\.(12|24)xlarge)$/, 21],
];

/** Types whose local disks use one slot of a small instance, and four of a large instance. */
const localDisks =
  /^([cmr][567]g?a?i?dn?|c5ad|hpc6id|im?4gn?|i[34](en|i)|is4gen|d3(en)?|g(4ad|4dn|5g?)|inf[12]|trn1|vt1|x2(gd|i?e?dn)|z1d)\./;

function placesOf(type: string): number {
  const exception = exceptions.find(([types]) => types.test(type));
  if (exception !== undefined) return exception[1];
  const [, size = ""] = type.split(".");
  if (withoutNVMe.test(type)) return 39;
  if (dedicated.test(type)) return placesOfSize[size] ?? 32;
  if (!localDisks.test(type) || size === "metal") return 27;
  const times = Number.parseInt(size, 10);
  return times >= 12 ? 23 : times >= 4 ? 25 : 26;
}

/** The root volume uses one slot. */
export const volumeLimit = (type: string): number => placesOf(type) - 1;
