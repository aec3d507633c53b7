// Counters, gauges and histograms, and their text in the Prometheus exposition format.

export type LabelValues = Readonly<Record<string, string>>;

export interface Counter {
  add(labels?: LabelValues, amount?: number): void;
}

export interface Gauge {
  set(value: number, labels?: LabelValues): void;
}

export interface Histogram {
  observe(value: number, labels?: LabelValues): void;
}

/** The declaration of a metric, for its text and for docs/metrics.md. */
export interface MetricDeclaration {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly labels: readonly string[];
  /** Only for histograms. */
  readonly buckets?: readonly number[];
}

interface Family extends MetricDeclaration {
  lines(): Iterable<string>;
}

/** The limit per metric. Further series are summed as "other", so that label values cannot fill the memory. */
const maxSeries = 1000;
const overflow = "other";

function escapedHelp(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
}

const escaped = (value: string): string => escapedHelp(value).replaceAll('"', '\\"');

function series(name: string, labels: LabelValues): string {
  const entries = Object.entries(labels);
  if (entries.length === 0) return name;
  return `${name}{${entries.map(([key, value]) => `${key}="${escaped(value)}"`).join(",")}}`;
}

/**
 * The series of one metric by their label values. They are looked up thousands of times a second, so text is created only on a
 * scrape.
 */
class SeriesTable<T> {
  readonly all: { readonly labels: LabelValues; readonly state: T }[] = [];
  readonly #byValues = new Map<string, T>();
  readonly #labels: readonly string[];
  readonly #create: () => T;

  constructor(labels: readonly string[], create: () => T) {
    this.#labels = labels;
    this.#create = create;
    this.reset();
  }

  reset(): void {
    this.all.length = 0;
    this.#byValues.clear();
    // Without labels the single series exists from the start, as Prometheus recommends.
    if (this.#labels.length === 0) this.of({});
  }

  of(given: LabelValues): T {
    let key = "";
    for (const label of this.#labels) key = key === "" ? (given[label] ?? "") : `${key}\0${given[label]}`;
    const known = this.#byValues.get(key);
    if (known !== undefined) return known;
    if (this.all.length > maxSeries)
      return (
        this.#byValues.get(overflow) ??
        this.#add(overflow, Object.fromEntries(this.#labels.map((label) => [label, overflow])))
      );
    return this.#add(key, Object.fromEntries(this.#labels.map((label) => [label, given[label] ?? ""])));
  }

  #add(key: string, labels: LabelValues): T {
    const state = this.#create();
    this.#byValues.set(key, state);
    this.all.push({ labels, state });
    return state;
  }
}

export class Metrics {
  readonly #families: Family[] = [];
  readonly #tables: { reset(): void }[] = [];

  counter(name: string, help: string, labels: readonly string[] = []): Counter {
    const values = this.#values(name, help, "counter", labels);
    return {
      add: (of = {}, amount = 1) => {
        values.of(of).value += amount;
      },
    };
  }

  gauge(name: string, help: string, labels: readonly string[] = []): Gauge {
    const values = this.#values(name, help, "gauge", labels);
    return {
      set: (value, of = {}) => {
        values.of(of).value = value;
      },
    };
  }

  /** A gauge whose values are read at each scrape. */
  gaugeFrom(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [LabelValues, number]>,
  ): void {
    this.#add({ name, help, type: "gauge", labels, lines: () => readLines(name, read) });
  }

  /** A counter whose values are read at each scrape. */
  counterFrom(
    name: string,
    help: string,
    labels: readonly string[],
    read: () => Iterable<readonly [LabelValues, number]>,
  ): void {
    this.#add({ name, help, type: "counter", labels, lines: () => readLines(name, read) });
  }

  /** In the order of declaration. */
  get declarations(): readonly MetricDeclaration[] {
    return this.#families;
  }

  histogram(
    name: string,
    help: string,
    buckets: readonly number[],
    labels: readonly string[] = [],
  ): Histogram {
    const table = new SeriesTable(labels, () => ({ counts: buckets.map(() => 0), sum: 0, count: 0 }));
    this.#tables.push(table);
    const lines = () =>
      table.all.flatMap(({ labels: of, state }) => histogramLines(name, buckets, of, state));
    this.#add({ name, help, type: "histogram", labels, buckets, lines });
    return {
      observe: (value, of = {}) => {
        const state = table.of(of);
        const index = buckets.findIndex((bound) => value <= bound);
        if (index !== -1) state.counts[index] = (state.counts[index] ?? 0) + 1;
        state.sum += value;
        state.count += 1;
      },
    };
  }

  /** Resets all metrics, except those whose values are read at each scrape. */
  reset(): void {
    for (const table of this.#tables) table.reset();
  }

  /** The exposition format of Prometheus, version 0.0.4. */
  text(): string {
    return this.#families
      .flatMap((family) => [
        `# HELP ${family.name} ${escapedHelp(family.help)}`,
        `# TYPE ${family.name} ${family.type}`,
        ...family.lines(),
      ])
      .join("\n")
      .concat("\n");
  }

  #values(name: string, help: string, type: "counter" | "gauge", labels: readonly string[]) {
    const table = new SeriesTable(labels, () => ({ value: 0 }));
    this.#tables.push(table);
    const lines = () => table.all.map(({ labels: of, state }) => `${series(name, of)} ${state.value}`);
    this.#add({ name, help, type, labels, lines });
    return table;
  }

  #add(family: Family): void {
    if (this.#families.some(({ name }) => name === family.name)) {
      throw new Error(`The metric ${family.name} is declared twice.`);
    }
    this.#families.push(family);
  }
}

function readLines(name: string, read: () => Iterable<readonly [LabelValues, number]>): readonly string[] {
  return [...read()].map(([labels, value]) => `${series(name, labels)} ${value}`);
}

interface HistogramState {
  /** Per bucket; the text has cumulative counts. */
  readonly counts: readonly number[];
  readonly sum: number;
  readonly count: number;
}

function histogramLines(
  name: string,
  buckets: readonly number[],
  labels: LabelValues,
  { counts, sum, count }: HistogramState,
): string[] {
  let cumulative = 0;
  return [
    ...buckets.map((bound, index) => {
      cumulative += counts[index] ?? 0;
      return `${series(`${name}_bucket`, { ...labels, le: String(bound) })} ${cumulative}`;
    }),
    `${series(`${name}_bucket`, { ...labels, le: "+Inf" })} ${count}`,
    `${series(`${name}_sum`, labels)} ${sum}`,
    `${series(`${name}_count`, labels)} ${count}`,
  ];
}
