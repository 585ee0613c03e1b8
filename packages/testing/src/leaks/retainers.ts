import { textOf } from '@tenure/core/internal'
import { type HeapGraph, OF_WEAK_MAP, takeHeapGraph } from './heap-graph.ts'
import { pathText } from './retainer-path.ts'
import { nextTurn } from './unobserved.ts'

/** The text of a snapshot is larger than the heap and must fit into one V8 string. */
const LARGEST_HEAP_BYTES = 256 * 2 ** 20
/** A path from a named variable is easier to read than a path from the engine. It may be this many references longer. */
const HEAD_START = 4

/** An object whose holder is wanted. */
export interface Retained {
  readonly ref: WeakRef<object>
  /** The end of the path. */
  readonly name: string
}

/** Marks the references of the detector in a snapshot by a unique class name. Holds no object. */
class TenureLeakTargets {
  readonly refs: readonly WeakRef<object>[]

  constructor(refs: readonly WeakRef<object>[]) {
    this.refs = refs
  }
}

/**
 * Returns a shortest path to each object, from the outside in: `janitor.ts module scope → variable `cache` → Term`. If there is no path,
 * the text gives the reason. Never rejects, so that the leak is always reported.
 *
 * Takes a heap snapshot, so call it only for leaked objects.
 */
export async function retainersOf(objects: readonly Retained[]): Promise<readonly string[]> {
  if (objects.length === 0) return []
  const heapBytes = process.memoryUsage().heapUsed
  if (heapBytes > LARGEST_HEAP_BYTES) {
    return objects.map(() => unknown(`a heap of ${mebibytes(heapBytes)} is over ${mebibytes(LARGEST_HEAP_BYTES)}`))
  }
  const targets = new TenureLeakTargets(objects.map(({ ref }) => ref))
  await nextTurn() // The engine holds the target of `deref()` until the turn ends.
  try {
    return pathsTo(targets, objects)
  } catch (error) {
    return objects.map(() => unknown(textOf(error)))
  }
}

function pathsTo(targets: TenureLeakTargets, objects: readonly Retained[]): readonly string[] {
  const graph = takeHeapGraph()
  try {
    return pathsIn(graph, nodesOf(graph, targets), objects)
  } finally {
    graph.variables.end()
  }
}

function pathsIn(
  graph: HeapGraph,
  nodes: readonly (number | undefined)[],
  objects: readonly Retained[],
): readonly string[] {
  const ways = waysFromRoot(graph)
  return objects.map(({ name }, index) => {
    const node = nodes[index]
    if (node === undefined) return unknown('it was collected meanwhile')
    const way = wayTo(ways, node)
    return way.length === 0 ? unknown('nothing in the heap refers to it strongly') : pathText(graph, way, name)
  })
}

function unknown(why: string): string {
  return `an unknown path: ${why}`
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20)} MiB`
}

/** The nodes of the objects, in their order. A snapshot contains the weak reference of each WeakRef. */
function nodesOf(graph: HeapGraph, { refs, constructor }: TenureLeakTargets): readonly (number | undefined)[] {
  for (let node = 0; node < graph.size; node++) {
    if (graph.kindOf(node) !== 'object' || graph.nameOf(node) !== constructor.name) continue
    const list = graph.follow(node, 'refs', ['property'])
    if (list === undefined) continue // The prototype.
    return refs.map((_, index) => graph.follow(graph.follow(list, `${index}`, ['element']), 'target', ['weak']))
  }
  return []
}

/** The first reference by which each node was reached, and its holder. -1 for none. */
interface Ways {
  readonly from: Int32Array
  readonly by: Int32Array
}

/** A breadth-first search of all reachable nodes. It starts with the globals and visits roots of the engine later. */
function waysFromRoot(graph: HeapGraph): Ways {
  const ways = { from: new Int32Array(graph.size).fill(-1), by: new Int32Array(graph.size).fill(-1) }
  ways.from[0] = 0
  const roots = edgeNumbers(graph, 0)
  let level = enter(
    graph,
    ways,
    roots.filter((edge) => graph.edgeAt(edge).kind === 'shortcut'),
  )
  for (let depth = 0; level.length > 0 || depth <= HEAD_START; depth++) {
    const next: number[] = depth === HEAD_START ? enter(graph, ways, roots) : []
    for (const node of level) spread(graph, ways, node, next)
    level = next
  }
  return ways
}

function enter(graph: HeapGraph, ways: Ways, roots: readonly number[]): number[] {
  const entered: number[] = []
  for (const edge of roots) reach(graph, ways, { node: 0, edge }, entered)
  return entered
}

function spread(graph: HeapGraph, ways: Ways, node: number, next: number[]): void {
  const [from, to] = graph.edgesOf(node)
  for (let edge = from; edge < to; edge++) reach(graph, ways, { node, edge }, next)
}

function reach(
  graph: HeapGraph,
  { from, by }: Ways,
  { node, edge }: { readonly node: number; readonly edge: number },
  next: number[],
): void {
  const target = graph.strongTarget(edge)
  if (target === -1 || from[target] !== -1 || holdsForWeakMap(graph, node, edge)) return
  from[target] = node
  by[target] = edge
  next.push(target)
}

/** The table of a WeakMap has the same references as its keys. */
function holdsForWeakMap(graph: HeapGraph, node: number, edge: number): boolean {
  return graph.kindOf(node) === 'array' && OF_WEAK_MAP.test(graph.edgeAt(edge).name)
}

function edgeNumbers(graph: HeapGraph, node: number): readonly number[] {
  const [from, to] = graph.edgesOf(node)
  return Array.from({ length: to - from }, (_, index) => from + index)
}

/** The references from the root to a node, outermost first, each with its holder. Empty if the node is unreachable. */
function wayTo({ from, by }: Ways, node: number): readonly (readonly [holder: number, edge: number])[] {
  const way: (readonly [number, number])[] = []
  for (let at = node; at !== 0; at = from[at] ?? 0) {
    if (from[at] === -1) return []
    way.unshift([from[at] ?? 0, by[at] ?? 0])
  }
  return way
}
