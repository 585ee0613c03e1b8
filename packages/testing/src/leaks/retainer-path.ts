import { type Frame, placeOf } from './frame.ts'
import { type HeapEdge, type HeapGraph, OF_WEAK_MAP } from './heap-graph.ts'
import { framesOf } from './trace.ts'

/** References from the root to an object, outermost first, each with the node that has it. */
export type Way = readonly (readonly [holder: number, edge: number])[]

const MOST_STEPS = 12
const FIRST_STEPS = 4
const LONGEST_STEP = 80
const STEP_START = 36
/** V8 does not list the variables of every function, so several are tried. */
const MOST_CLOSURES = 4

/** Storage nodes of V8. They do not help a reader. */
const STORAGE = new Set(['array', 'hidden', 'code', 'object shape', 'synthetic', 'string', 'symbol'])
/** Implements `Term`, which is the name that users know. */
const TERM_CLASS = 'ControllerTerm'
const SCOPE_CLASS = 'TaskScope'
const INSIDES = new Set([TERM_CLASS, SCOPE_CLASS])

interface Step extends HeapEdge {
  readonly holder: number
}

/**
 * A path as text, with `target` at its end. The path begins at the innermost module variable on it, otherwise at a global or at an
 * object of the engine. The text has fewer than 1,000 characters.
 */
export function pathText(graph: HeapGraph, way: Way, target: string): string {
  const all = way.map(([holder, edge]) => ({ holder, ...graph.edgeAt(edge) }))
  const insides = all.findIndex(({ holder }) => INSIDES.has(graph.nameOf(holder)))
  const steps = insides === -1 ? all : all.slice(0, insides)
  const begin = steps.findLastIndex((step, index) => isOfModule(graph, step, steps[index - 1]))
  // Node 22 has `process` behind a getter.
  const ofProcess = steps.findLastIndex(({ holder }) => graph.nameOf(holder) === 'process')
  const isOfProcess = ofProcess > begin
  const rest = steps.slice(isOfProcess ? ofProcess : begin + 1)
  return shortened([
    ...(isOfProcess ? [] : moduleWords(graph, steps[begin])),
    ...rest.flatMap((step, index) => wordsOf(graph, step, rest[index + 1])),
    ...endWords(graph, { target, steps, all }),
  ])
}

interface End {
  readonly target: string
  readonly steps: readonly Step[]
  readonly all: readonly Step[]
}

/** Omits how a Term holds its controller. The scope of a Term stands for the Term. */
function endWords(graph: HeapGraph, { target, steps, all }: End): readonly string[] {
  const last = graph.nameOf(all.at(-1)?.to ?? 0)
  const reached = graph.nameOf(steps.at(-1)?.to ?? 0)
  if (last === SCOPE_CLASS) return [reached === SCOPE_CLASS ? `${SCOPE_CLASS} of ${target}` : target]
  return reached === last ? [target] : [className(reached), target]
}

/** Whether a step is a module variable that a function of the module uses, or an export of the module. */
function isOfModule(graph: HeapGraph, { holder, kind, name }: Step, before: Step | undefined): boolean {
  if (isVariable(graph, holder, kind)) return isModuleScope(graph, holder)
  return graph.nameOf(holder) === 'system / Cell' && name === 'value' && graph.kindOf(before?.holder ?? 0) === 'array'
}

/** Whether a step is a variable. Block variables have no names in a snapshot. */
function isVariable(graph: HeapGraph, holder: number, kind: string): boolean {
  return kind === 'context' || (kind === 'hidden' && isContext(graph, holder))
}

function isContext(graph: HeapGraph, node: number): boolean {
  return graph.kindOf(node) === 'object' && graph.nameOf(node) === 'system / Context'
}

function isModuleScope(graph: HeapGraph, context: number): boolean {
  const outer = graph.follow(context, 'previous')
  if (outer === undefined) return false
  return graph.nameOf(outer) === 'system / NativeContext' || isVitestWrapper(graph, outer)
}

/** Vitest puts a module in a block of a function. */
function isVitestWrapper(graph: HeapGraph, context: number): boolean {
  const variables = graph.edgeList(context).filter(({ kind }) => kind === 'context')
  return variables.length > 0 && variables.every(({ name }) => name.startsWith('__vi'))
}

function moduleWords(graph: HeapGraph, step: Step | undefined): readonly string[] {
  if (step === undefined) return []
  const { context, name } = isContext(graph, step.holder)
    ? { context: step.holder, name: nameOfVariable(graph, step) }
    : exportOf(graph, step)
  const file = context === undefined ? undefined : fileOfContext(graph, context)
  return [file === undefined ? 'a module scope' : `${file} module scope`, ...variableWords(name)]
}

function nameOfVariable(graph: HeapGraph, { holder, kind, name, to }: Step): string {
  if (kind === 'context') return name
  const closures = closuresIn(graph, holder).map((closure) => graph.idOf(closure))
  return graph.variables.nameOf(closures.slice(0, MOST_CLOSURES), graph.idOf(to)) ?? ''
}

function variableWords(name: string): readonly string[] {
  return [name === '' ? 'a variable' : `variable \`${name}\``]
}

/** The functions that see the variables of a context. */
function closuresIn(graph: HeapGraph, context: number): readonly number[] {
  return graph
    .referrersOf(context)
    .flatMap(({ from, name }) => (graph.kindOf(from) === 'closure' && name === 'context' ? [from] : []))
}

/** The table of the exports of a module has their cells beside their names. */
function exportOf(
  graph: HeapGraph,
  { holder }: Step,
): { readonly context?: number | undefined; readonly name: string } {
  for (const { from, name } of graph.referrersOf(holder)) {
    const before = graph.follow(from, `${Number(name) - 1}`)
    if (before === undefined || graph.kindOf(before) !== 'string') continue
    const module = graph.referrersOf(from).find((referrer) => graph.nameOf(referrer.from).includes('SourceTextModule'))
    const context =
      module && graph.referrersOf(module.from).find((referrer) => graph.nameOf(referrer.from) === 'system / Context')
    return { context: context?.from, name: graph.nameOf(before) }
  }
  return { name: '' }
}

function fileOfContext(graph: HeapGraph, context: number): string | undefined {
  const [closure] = closuresIn(graph, context)
  const frame = closure === undefined ? undefined : frameOf(graph, closure)
  return frame && placeOf(frame).replace(/:\d+:\d+$/, '')
}

function frameOf(graph: HeapGraph, closure: number): Frame | undefined {
  const script = graph.follow(graph.follow(closure, 'shared'), 'script')
  const { line, column } = graph.locationOf(closure) ?? { line: 0, column: 0 }
  const scriptName = script === undefined ? '' : graph.nameOf(script)
  if (scriptName === '') return undefined
  return framesOf([{ functionName: '', scriptName, lineNumber: line + 1, columnNumber: column + 1 }])[0]
}

/** A reference as a program writes it. Empty for references that the engine adds. */
function wordsOf(graph: HeapGraph, step: Step, next: Step | undefined): readonly string[] {
  const { holder, kind, name, to } = step
  const [nodeKind, nodeName] = [graph.kindOf(holder), graph.nameOf(holder)]
  if (isVariable(graph, holder, kind)) return variableWords(nameOfVariable(graph, step))
  if (STORAGE.has(nodeKind)) return []
  if (nodeKind === 'closure' && kind === 'internal') return [functionWords(graph, holder)]
  if (name === 'table' && graph.kindOf(to) === 'array') return [`${nodeName} entry${keyOf(graph, next)}`]
  return memberWords(nodeName, step)
}

function memberWords(nodeName: string, { kind, name }: Step): readonly string[] {
  if (kind === 'element') return [`${className(nodeName)}[${name}]`]
  if (kind === 'property') return [propertyWords(nodeName === '' ? 'function' : className(nodeName), name)]
  if (OF_WEAK_MAP.test(name)) return [`key ${className(nodeName)} of a WeakMap`]
  return nodeName.startsWith('system / ') || nodeName === '' ? [] : [className(nodeName)]
}

function functionWords(graph: HeapGraph, closure: number): string {
  const name = graph.nameOf(closure)
  const frame = frameOf(graph, closure)
  return `function${name === '' ? '' : ` \`${name}\``}${frame === undefined ? '' : ` (${placeOf(frame)})`}`
}

function propertyWords(holder: string, name: string): string {
  const symbol = /^<symbol (.*)>$/.exec(name)?.[1]
  return symbol === undefined ? `${holder}.${name}` : `${holder}[${symbol}]`
}

function className(name: string): string {
  // Node 26 names the global object twice.
  return name === TERM_CLASS ? 'Term' : name.replace(/^global \(.*\)$/, 'global')
}

/** In the table of a Map, the key precedes its value. The snapshot does not contain numbers. */
function keyOf(graph: HeapGraph, entry: Step | undefined): string {
  const key = entry && graph.follow(entry.holder, `${Number(entry.name) - 1}`)
  return key === undefined || graph.kindOf(key) !== 'string' ? '' : ` ${JSON.stringify(graph.nameOf(key))}`
}

function shortened(words: readonly string[]): string {
  const short =
    words.length <= MOST_STEPS ? words : [...words.slice(0, FIRST_STEPS), '…', ...words.slice(FIRST_STEPS - MOST_STEPS)]
  return short.map(shortenedStep).join(' → ')
}

/** Keeps the start, which names the step, and the end, which names the file. */
function shortenedStep(step: string): string {
  if (step.length <= LONGEST_STEP) return step
  return `${step.slice(0, STEP_START)}…${step.slice(STEP_START + 1 - LONGEST_STEP)}`
}
