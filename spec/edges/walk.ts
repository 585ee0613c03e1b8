import type { LeaseModel } from '../models.ts'
import { BeyondBounds, CodeWorld } from './code-world.ts'
import type { Variant } from './code-replica.ts'
import { type Command, commandsIn } from './commands.ts'
import type { Edge, Graph } from './graph.ts'
import { keyOf, NAMES } from './model-state.ts'
import { TICK_MS, ticksUntil } from './timing.ts'

/** What the code chooses by itself, at the time of its choice. */
const OWN_CHOICES: ReadonlySet<string> = new Set([
  'Acquire',
  'Renew',
  'Release',
  'Leave',
  'Abort',
  'Act',
  'Offer',
  'Answer',
  'Transfer',
  'ActOnTransfer',
  'Remind',
  'Join',
  'Unlist',
])

/** The longest chain of steps of the model that one event of the code may take. */
const LONGEST_CHAIN = 4

/** The most ways to one state, of one configuration, that are followed until all its steps are covered. */
const MOST_WAYS = 24

/** A way to a state: the commands from the beginning, and what the model does not show of it. */
interface Way {
  readonly key: string
  readonly variant: Variant
  readonly slow: CodeWorld['slow']
  readonly commands: readonly string[]
  /** Whether it is one of the first ways to its state, which are followed in any case. */
  readonly isFirst: boolean
}

/** Steps of the model, one after the other. */
interface Chain {
  readonly at: string
  readonly edges: readonly Edge[]
  /** Whether the step of the command is among them. */
  readonly isDone: boolean
}

/** A step of the code that the model does not allow. */
interface Difference {
  readonly commands: readonly string[]
  readonly variant: string
  readonly message: string
}

/** The result of walking along a graph. */
export interface Walk {
  readonly covered: ReadonlySet<Edge>
  readonly tests: number
  readonly beyond: number
  readonly differences: readonly Difference[]
  /** The states that were reached. */
  readonly reached: number
}

interface WalkOptions {
  readonly model: LeaseModel
  readonly graph: Graph
  readonly variants: readonly Variant[]
  /** How many ways to one state are followed. */
  readonly ways: number
  /** The most differences to look for. */
  readonly most: number
  /** The walk ends after about so many tests. @default when nothing is left */
  readonly tests?: number
}

/** Leads the code along the steps of the model, and everything that the code does must be a step of the model. */
export async function walk(options: WalkOptions): Promise<Walk> {
  const walker = new Walker(options)
  await walker.run()
  return walker
}

class Walker implements Walk {
  readonly covered = new Set<Edge>()
  readonly differences: Difference[] = []
  tests = 0
  beyond = 0
  readonly #options: WalkOptions
  readonly #queue: Way[] = []
  readonly #known = new Set<string>()
  readonly #ways = new Map<string, number>()

  constructor(options: WalkOptions) {
    this.#options = options
  }

  get reached(): number {
    return this.#ways.size
  }

  async run(): Promise<void> {
    const { graph, variants, most, tests = Infinity } = this.#options
    for (const variant of variants) {
      for (const key of graph.initial) {
        const slow = graph.states.get(key)?.slow ?? []
        const way = { key, variant, slow, commands: [], isFirst: true }
        const world = this.#worldOf(way)
        if (keyOf(world.state()) !== key)
          throw new Error(`The code does not begin as the model: ${keyOf(world.state())} is not ${key}`)
        this.#note(way, world)
      }
    }
    for (let at = 0; at < this.#queue.length && this.differences.length < most && this.tests < tests; at++) {
      const way = this.#queue[at]
      if (way !== undefined && (way.isFirst || !this.#isCovered(way.key))) await this.#goOn(way)
    }
  }

  #worldOf({ variant, slow }: Way): CodeWorld {
    const { slots = 1, features = [] } = this.#options.model
    return new CodeWorld(variant, { slots, period: features.includes('drift') ? 3 : 1 }, slow)
  }

  async #goOn(way: Way): Promise<void> {
    const { model } = this.#options
    const commands = commandsIn(await this.#replay(way), model)
    for (const command of commands) await this.#test(way, command)
  }

  async #replay(way: Way): Promise<CodeWorld> {
    const world = this.#worldOf(way)
    for (const name of way.commands) {
      const command = commandsIn(world, this.#options.model).find((one) => one.name === name)
      if (command === undefined) throw new Error(`The code is not deterministic: \`${name}\` is gone`)
      await command.run(world)
      await world.settle()
    }
    return world
  }

  async #test(way: Way, command: Command): Promise<void> {
    const world = await this.#replay(way)
    const commands = [...way.commands, command.name]
    this.tests += 1
    const before = NAMES.map((name) => world.replica(name).effects.length)
    try {
      await command.run(world)
      await world.settle()
      const key = keyOf(world.state())
      const ends = NAMES.some((name, index) =>
        world
          .replica(name)
          .effects.slice(before[index])
          .some((effect) => effect.kind === 'end-term' && ['stalled', 'renew-deadline'].includes(effect.reason)),
      )
      const chain = this.#chain(way.key, key, command, ends)
      if (chain === undefined) {
        this.#differ(
          way,
          commands,
          this.#options.graph.states.has(key)
            ? `no chain of ${command.action ?? 'own choices'} to ${key}`
            : `no state ${key}`,
        )
        return
      }
      for (const edge of chain) this.covered.add(edge)
      this.#note({ ...way, key, commands }, world)
    } catch (error) {
      if (error instanceof BeyondBounds) this.beyond += 1
      else this.#differ(way, commands, error instanceof Error ? `${error.stack}` : String(error))
    }
  }

  #differ(way: Way, commands: readonly string[], message: string): void {
    this.differences.push({ commands, variant: way.variant.name, message: `${message}\n  from ${way.key}` })
  }

  /**
   * The shortest chain of steps with the step of the command and own choices of the code. The code chooses after the step, except that it
   * ends an overdue term before.
   */
  #chain(from: string, to: string, command: Command, ends: boolean): readonly Edge[] | undefined {
    if (from === to && command.mayStutter) return []
    const first = this.#chainFrom([{ at: from, edges: [], isDone: command.action === undefined }], to, command, ends)
    if (first !== undefined || !ends) return first
    const aborted = this.#edgesOf(from).filter(({ action }) => action === 'Abort')
    const starts = aborted.map((edge) => ({ at: edge.to, edges: [edge], isDone: command.action === undefined }))
    return this.#chainFrom(starts, to, command, ends)
  }

  #chainFrom(starts: readonly Chain[], to: string, { action }: Command, ends: boolean): readonly Edge[] | undefined {
    let chains = starts
    for (let length = 1; length <= LONGEST_CHAIN; length++) {
      chains = chains.flatMap(({ at, edges, isDone }) =>
        this.#edgesOf(at)
          .filter((edge) =>
            isDone ? OWN_CHOICES.has(edge.action) && (edge.action !== 'Abort' || ends) : edge.action === action,
          )
          .map((edge) => ({ at: edge.to, edges: [...edges, edge], isDone: true })),
      )
      const found = chains.find(({ at }) => at === to)
      if (found !== undefined) return found.edges
    }
    return undefined
  }

  #edgesOf(key: string): readonly Edge[] {
    return this.#options.graph.edges.get(key) ?? []
  }

  /** Keeps a new way to a state. */
  #note(way: Way, world: CodeWorld): void {
    const hidden = `${way.key} ${hiddenOf(world)} ${way.variant.name}`
    if (this.#known.has(hidden)) return
    this.#known.add(hidden)
    const place = `${way.key} ${way.variant.name}`
    const ways = this.#ways.get(place) ?? 0
    if (ways >= MOST_WAYS || (ways >= this.#options.ways && this.#isCovered(way.key))) return
    this.#ways.set(place, ways + 1)
    this.#queue.push({ ...way, isFirst: ways < this.#options.ways })
  }

  #isCovered(key: string): boolean {
    return this.#edgesOf(key).every((edge) => this.covered.has(edge))
  }
}

/** What the model does not show of the code, as far as later steps depend on it. */
function hiddenOf(world: CodeWorld): string {
  return NAMES.map((name) => {
    const { elector, wakeAt, clock, write, read, isOverdue } = world.replica(name)
    const { state } = elector
    const request = 'hold' in state ? state.hold.request.kind : ''
    const observation = 'observation' in state ? state.observation.kind : ''
    const due = wakeAt === undefined ? 'never' : Math.max(-3, Math.round((wakeAt - clock.now()) / TICK_MS))
    const isOrdered = 'stepDown' in state && state.stepDown !== undefined
    const rest = 'notBefore' in state ? ticksUntil(state.notBefore, clock.now()) : 0
    return [
      state.kind,
      isOrdered,
      rest,
      request,
      observation,
      due,
      isOverdue,
      write?.request.isOpen === true,
      read?.isOpen === true,
    ].join(' ')
  }).join(', ')
}
