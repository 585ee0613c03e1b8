import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writeHeapSnapshot } from 'node:v8'
import { unobserved } from './unobserved.ts'
import { VariableNames } from './variable-names.ts'

/** The snapshot format of V8: rows of numbers. `meta` names the columns. */
interface Snapshot {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[]
      readonly node_types: readonly [readonly string[], ...unknown[]]
      readonly edge_fields: readonly string[]
      readonly edge_types: readonly [readonly string[], ...unknown[]]
      readonly location_fields: readonly string[]
    }
    readonly node_count: number
  }
  readonly nodes: readonly number[]
  readonly edges: readonly number[]
  readonly locations: readonly number[]
  readonly strings: readonly string[]
}

/** The name of a reference to a value of a WeakMap. Its key has one, and holds the value; so has the table, which does not. */
export const OF_WEAK_MAP: RegExp = / pair in WeakMap /

/** A reference from one node to another. Weak ones hold nothing. */
export interface HeapEdge {
  readonly kind: string
  /** The name of the variable or property, or the position of a reference without a name. */
  readonly name: string
  readonly to: number
}

/** The start of a function in its script, counted from 0. */
export interface HeapLocation {
  readonly line: number
  readonly column: number
}

/** Takes a snapshot of the heap. The process is blocked meanwhile and needs as much additional memory as the heap. */
export function takeHeapGraph(): HeapGraph {
  return unobserved(() => {
    const file = join(tmpdir(), `tenure-${process.pid}-${process.hrtime.bigint()}.heapsnapshot`)
    try {
      return new HeapGraph(JSON.parse(readFileSync(writeHeapSnapshot(file), 'utf8')) as Snapshot)
    } finally {
      rmSync(file, { force: true })
    }
  })
}

/** The objects of a heap and their references. A node is identified by its position in the snapshot; 0 is the root. */
export class HeapGraph {
  /** Holds an inspector session. End it after use. */
  readonly variables: VariableNames = new VariableNames()
  readonly #snapshot: Snapshot
  readonly #firstEdge: Uint32Array
  readonly #nodeWidth: number
  readonly #idColumn: number
  readonly #edgeWidth: number
  readonly #nodeKinds: readonly string[]
  readonly #edgeKinds: readonly string[]
  #locations: ReadonlyMap<number, HeapLocation> | undefined

  constructor(snapshot: Snapshot) {
    const { meta, node_count: count } = snapshot.snapshot
    this.#snapshot = snapshot
    this.#nodeWidth = meta.node_fields.length
    this.#idColumn = meta.node_fields.indexOf('id')
    this.#edgeWidth = meta.edge_fields.length
    this.#nodeKinds = meta.node_types[0]
    this.#edgeKinds = meta.edge_types[0]
    this.#firstEdge = new Uint32Array(count + 1)
    const column = meta.node_fields.indexOf('edge_count')
    for (let node = 0; node < count; node++) {
      this.#firstEdge[node + 1] = (this.#firstEdge[node] ?? 0) + (snapshot.nodes[node * this.#nodeWidth + column] ?? 0)
    }
  }

  get size(): number {
    return this.#firstEdge.length - 1
  }

  /** The class of an object, the name of a function, the text of a string. */
  nameOf(node: number): string {
    return this.#snapshot.strings[this.#snapshot.nodes[node * this.#nodeWidth + 1] ?? 0] ?? ''
  }

  /** The id that the inspector uses for the node while the object is alive. */
  idOf(node: number): number {
    return this.#snapshot.nodes[node * this.#nodeWidth + this.#idColumn] ?? 0
  }

  /** `object`, `closure`, `array`, `string`, `synthetic` and others. */
  kindOf(node: number): string {
    return this.#nodeKinds[this.#snapshot.nodes[node * this.#nodeWidth] ?? 0] ?? ''
  }

  /** The range of reference numbers of a node, for {@link edgeAt}: the first, and one past the last. */
  edgesOf(node: number): readonly [from: number, to: number] {
    return [this.#firstEdge[node] ?? 0, this.#firstEdge[node + 1] ?? 0]
  }

  /** The target node of a strong reference, or -1 for a weak reference. Cheap, because it is called for every reference. */
  strongTarget(edge: number): number {
    const { edges } = this.#snapshot
    const at = edge * this.#edgeWidth
    return this.#edgeKinds[edges[at] ?? 0] === 'weak' ? -1 : (edges[at + 2] ?? 0) / this.#nodeWidth
  }

  edgeAt(edge: number): HeapEdge {
    const { edges, strings } = this.#snapshot
    const at = edge * this.#edgeWidth
    const kind = this.#edgeKinds[edges[at] ?? 0] ?? ''
    const value = edges[at + 1] ?? 0
    const name = kind === 'element' || kind === 'hidden' ? `${value}` : (strings[value] ?? '')
    return { kind, name, to: (edges[at + 2] ?? 0) / this.#nodeWidth }
  }

  /** The reference with this name and one of these kinds. */
  follow(
    node: number | undefined,
    name: string,
    kinds: readonly string[] = ['property', 'internal'],
  ): number | undefined {
    if (node === undefined) return undefined
    return this.edgeList(node).find((edge) => edge.name === name && kinds.includes(edge.kind))?.to
  }

  edgeList(node: number): readonly HeapEdge[] {
    const [from, to] = this.edgesOf(node)
    return Array.from({ length: to - from }, (_, index) => this.edgeAt(from + index))
  }

  /** The references to a node, with their holders. Visits every node, so call it rarely. */
  referrersOf(target: number): readonly (HeapEdge & { readonly from: number })[] {
    const found: (HeapEdge & { readonly from: number })[] = []
    for (let node = 0; node < this.size; node++) {
      const [from, to] = this.edgesOf(node)
      for (let edge = from; edge < to; edge++) {
        if (this.strongTarget(edge) === target) found.push({ ...this.edgeAt(edge), from: node })
      }
    }
    return found
  }

  /** The start of a function. */
  locationOf(node: number): HeapLocation | undefined {
    this.#locations ??= this.#readLocations()
    return this.#locations.get(node)
  }

  #readLocations(): ReadonlyMap<number, HeapLocation> {
    const { locations, snapshot } = this.#snapshot
    const fields = snapshot.meta.location_fields
    const [line, column] = [fields.indexOf('line'), fields.indexOf('column')]
    const read = new Map<number, HeapLocation>()
    for (let at = 0; at < locations.length; at += fields.length) {
      const node = (locations[at] ?? 0) / this.#nodeWidth
      read.set(node, { line: locations[at + line] ?? 0, column: locations[at + column] ?? 0 })
    }
    return read
  }
}
