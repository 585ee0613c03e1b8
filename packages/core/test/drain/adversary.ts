import type { Term } from '../../src/term/term.ts'

/** What tasks themselves know of who lives. Asks nothing of Tenure. */
interface TaskBook {
  readonly began: (task: number) => void
  readonly ended: (task: number) => void
}

/** What an adversary works with. */
export interface AdversaryOptions {
  /** Numbers in [0, 1). */
  readonly random: () => number
  /** How long a drain and the abort after it may take together, in milliseconds. */
  readonly budgetMs: number
  /** Waits and hears nothing. */
  readonly wait: (ms: number) => Promise<void>
  readonly book: TaskBook
}

type Behaviour = (context: Context) => unknown

interface Context extends AdversaryOptions {
  readonly term: Term
  readonly signal: AbortSignal
  /** Starts another task, counted like all of them. */
  readonly spawn: (work: Behaviour) => Promise<unknown>
}

const untilAbort = (signal: AbortSignal): Promise<void> =>
  signal.aborted
    ? Promise.resolve()
    : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))

/** Everything that a task may do wrong, with how often it is done. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  cooperative: ({ term }) => term.sleep(1e9),
  'ignores the abort for up to twice the budget': async ({ signal, wait, random, budgetMs }) => {
    await untilAbort(signal)
    await wait(2 * budgetMs * random())
  },
  'ignores the abort for a moment': async ({ signal, wait, random, budgetMs }) => {
    await untilAbort(signal)
    await wait(0.2 * budgetMs * random())
  },
  'works on, deaf': ({ wait, random, budgetMs }) => wait(3 * budgetMs * random()),
  'throws when it is aborted': async ({ signal }) => {
    await untilAbort(signal)
    throw new Error('torn')
  },
  'rejects with nothing, late': async ({ signal, wait, random, budgetMs }) => {
    await untilAbort(signal)
    await wait(budgetMs * random())
    // oxlint-disable-next-line no-throw-literal, only-throw-error -- this is what some do
    throw undefined
  },
  'throws while the term lasts': async ({ wait, random, budgetMs }) => {
    await wait(budgetMs * random())
    throw new Error('a failure of its own')
  },
  'throws at once': () => {
    throw new Error('not even a promise')
  },
  'spawns late': async ({ signal, spawn, wait, random, budgetMs }) => {
    await untilAbort(signal)
    await spawn(({ wait }) => wait(budgetMs * random())).catch(() => {})
    await wait(0.1 * budgetMs * random())
  },
  'spawns and leaves its child behind': ({ spawn, random, budgetMs }) => {
    void spawn(async ({ signal, wait }) => {
      await untilAbort(signal)
      await wait(0.5 * budgetMs * random())
    }).catch(() => {})
  },
  'races its child and lets it go': ({ spawn, signal, random, budgetMs }) =>
    Promise.race([spawn(({ wait }) => wait(1.5 * budgetMs * random())).catch(() => {}), untilAbort(signal)]),
  'cleans up, and rejects': ({ term, random, budgetMs, wait, book }) => {
    deferCounted(term, book, async () => {
      await wait(0.3 * budgetMs * random())
      throw new Error('a cleanup that fails')
    })
  },
  'cleans up in layers': ({ term, random, budgetMs, wait, book }) => {
    deferCounted(term, book, () => {
      deferCounted(term, book, () => wait(0.2 * budgetMs * random()))
    })
  },
  'ends at the hard abort': ({ term }) => untilAbort(term.hardSignal),
}

let lastTask = 0

/** A controller that misbehaves: a handful of tasks, each with its own behaviour. One controller in ten has a task that never ends. */
export async function misbehave(term: Term, options: AdversaryOptions): Promise<void> {
  const { random } = options
  const spawn = spawner(term, options)
  const names = Object.keys(BEHAVIOURS)
  for (let tasks = 1 + Math.floor(random() * 5); tasks > 0; tasks--) {
    const behaviour = BEHAVIOURS[names[Math.floor(random() * names.length)] ?? '']
    if (behaviour !== undefined) void spawn(behaviour).catch(() => {})
  }
  if (random() < 0.1) void spawn(() => new Promise(() => {})).catch(() => {})
  await counted(options.book, () => term.sleep(1e9))
}

function spawner(term: Term, options: AdversaryOptions): Context['spawn'] {
  const spawn: Context['spawn'] = async (work) =>
    term.spawn('adversary', (signal) => counted(options.book, () => work({ ...options, term, signal, spawn })), {
      finishOnDrain: options.random() < 0.3,
    })
  return spawn
}

function deferCounted(term: Term, book: TaskBook, cleanup: () => unknown): void {
  term.defer(() => counted(book, cleanup))
}

/** Writes down when the work begins and when it is over, whatever anybody makes of its promise. */
async function counted(book: TaskBook, work: () => unknown): Promise<void> {
  const task = ++lastTask
  book.began(task)
  try {
    await work()
  } finally {
    book.ended(task)
  }
}

/** A repeatable source of numbers in [0, 1): mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
