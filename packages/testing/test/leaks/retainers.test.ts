import { EventEmitter } from 'node:events'
import { syncBuiltinESMExports } from 'node:module'
import v8 from 'node:v8'
import { Controller, type Term } from '@tenure/core'
import { describe, expect, it, vi } from 'vitest'
import { expectNoLeaks, LeakError, watchForLeaks } from '../../src/leaks/index.ts'

class Janitor extends Controller {
  override readonly name = 'janitor'
  readonly #keep: (term: Term) => unknown

  constructor(keep: (term: Term) => unknown) {
    super()
    this.#keep = keep
  }

  override async run(term: Term): Promise<void> {
    await this.#keep(term)
    await term.every(60_000, () => {})
  }
}

const keptTerms: unknown[] = []
const cache = new Map<string, unknown>()
export const exportedSet = new Set<unknown>()
let latest: unknown
const emitter = new EventEmitter()
const byKey = new WeakMap<object, unknown>()
const keyOfTerm = {}
const closures: (() => unknown)[] = []
const promises: unknown[] = []
const never = new Promise(() => {})

class Registry {
  static readonly instance = new Registry()
  readonly #terms: unknown[] = []
  add(term: unknown): void {
    this.#terms.push(term)
  }
  clear(): void {
    this.#terms.length = 0
  }
}

/** Far inside of other things. */
function buried(term: Term, depth: number): unknown {
  return depth === 0 ? term : { aPropertyWithQuiteALongNameThatSaysLittle: [buried(term, depth - 1)] }
}

async function errorOf(check: Promise<void>): Promise<LeakError> {
  const error: unknown = await check.catch((failure: unknown) => failure)
  if (error instanceof LeakError) return error
  throw new Error('Expected leaks to be found', { cause: error })
}

async function holderOf(keep: (term: Term) => unknown): Promise<string> {
  const check = expectNoLeaks(() => new Janitor(keep), { terms: 1, termMs: 5, graceMs: 50, retainers: true })
  const { leaks, message } = await errorOf(check)
  const heldBy = leaks.find(({ kind }) => kind === 'term')?.heldBy ?? ''
  if (process.env['SHOW']) console.log(heldBy)
  expect(message).toContain(`held by ${heldBy}`)
  expect(heldBy.length).toBeLessThan(1000)
  return heldBy
}

describe('the path to a Term that is still reachable', () => {
  it('names the list of a module and the position in it', async () => {
    const heldBy = await holderOf((term) => keptTerms.push('first', term))
    keptTerms.length = 0
    expect(heldBy).toMatch(/retainers\.test\.ts module scope → variable `keptTerms` → Array\[1\] → Term \(epoch \d+\)$/)
  })

  it('names the map of a module and the key in it', async () => {
    const heldBy = await holderOf((term) => cache.set('x', [term]))
    cache.clear()
    expect(heldBy).toMatch(
      /retainers\.test\.ts module scope → variable `cache` → Map entry "x" → Array\[0\] → Term \(epoch \d+\)$/,
    )
  })

  it('names a set that a module exports', async () => {
    const heldBy = await holderOf((term) => exportedSet.add(term))
    exportedSet.clear()
    expect(heldBy).toMatch(/retainers\.test\.ts module scope → variable `exportedSet` → Set entry → Term/)
  })

  it('names a variable of a module', async () => {
    const heldBy = await holderOf((term) => (latest = term))
    expect(latest).toBeDefined()
    latest = undefined
    expect(heldBy).toMatch(/retainers\.test\.ts module scope → variable `latest` → Term \(epoch \d+\)$/)
  })

  it('names a property of the global object', async () => {
    const heldBy = await holderOf((term) => Reflect.set(globalThis, 'heldTerm', term))
    Reflect.deleteProperty(globalThis, 'heldTerm')
    expect(heldBy).toMatch(/global\.heldTerm → Term \(epoch \d+\)$/)
  })

  it('names the event of a listener, the listener with its place, and its variable', async () => {
    const heldBy = await holderOf((held) => emitter.on('cleaned', () => held.signal))
    emitter.removeAllListeners()
    expect(heldBy).toMatch(/variable `emitter` → EventEmitter\._events → Object\.cleaned → function/)
    expect(heldBy).toMatch(/retainers\.test\.ts:\d+:\d+\) → variable `held` → Term \(epoch \d+\)$/)
  })

  it('names the closure and its variable', async () => {
    const heldBy = await holderOf((held) => closures.push(() => held))
    closures.length = 0
    expect(heldBy).toMatch(
      /variable `closures` → Array\[0\] → function .*retainers\.test\.ts:\d+:\d+\) → variable `held`/,
    )
  })

  it('names private fields and statics of classes', async () => {
    const heldBy = await holderOf((term) => Registry.instance.add(term))
    Registry.instance.clear()
    expect(heldBy).toMatch(/Registry\.instance → Registry\.#terms → Array\[0\] → Term/)
  })

  it('names the key of a WeakMap as the holder, not its table', async () => {
    const heldBy = await holderOf((term) => byKey.set(keyOfTerm, term))
    byKey.delete(keyOfTerm)
    expect(heldBy).toMatch(/module scope → variable `keyOfTerm` → key Object of a WeakMap → Term \(epoch \d+\)$/)
  })

  it('names a timer of Node', async () => {
    let timer: NodeJS.Timeout | undefined
    const heldBy = await holderOf((held) => (timer = setInterval(() => held.signal, 60_000).unref()))
    clearInterval(timer)
    expect(heldBy).toMatch(/Timeout\._onTimeout → function .* → variable `held` → Term/)
  })

  it('names what waits for a promise', async () => {
    const heldBy = await holderOf((held) => promises.push(never.then(() => held)))
    expect(heldBy).toMatch(/variable `never` → .*Promise.* → variable `held` → Term/)
  })

  it('names the process and its event', async () => {
    const kept: (() => unknown)[] = []
    const heldBy = await holderOf((held) => {
      const listener = () => held.signal
      kept.push(() => process.off('exit', listener))
      process.on('exit', listener)
    })
    for (const remove of kept) remove()
    expect(heldBy).toMatch(/^process\._events → Object\.exit → .*function .* → variable `held` → Term \(epoch \d+\)$/)
  })

  it('says where only the scope of the Term is held', async () => {
    const heldBy = await holderOf((term) => keptTerms.push(Reflect.get(term, 'scope')))
    keptTerms.length = 0
    expect(heldBy).toMatch(/variable `keptTerms` → Array\[0\] → TaskScope of Term \(epoch \d+\)$/)
  })

  it('is bounded in length, and keeps both ends', async () => {
    const heldBy = await holderOf((term) => keptTerms.push(buried(term, 12)))
    keptTerms.length = 0
    expect(heldBy).toMatch(/module scope → variable `keptTerms` → .* → … → .*Term \(epoch \d+\)$/)
  })
})

describe('the option `retainers`', () => {
  it('shows the holder of any object that has to be garbage', async () => {
    const leaks = watchForLeaks({ graceMs: 50, retainers: true })
    const object = { kept: true }
    keptTerms.push(object)
    leaks.expectCollected(object, 'the kept object')
    const { message } = await errorOf(leaks.assertNone())
    keptTerms.length = 0
    expect(message).toMatch(/held by .*variable `keptTerms` → Array\[0\] → the kept object/)
  })

  it('shows that the Term holds the Controller, without the insides of the Term', async () => {
    const keep = (term: Term) => keptTerms.push(term)
    const check = expectNoLeaks(() => new Janitor(keep), { terms: 1, termMs: 5, graceMs: 50, retainers: true })
    const { leaks } = await errorOf(check)
    keptTerms.length = 0
    const heldBy = leaks.find(({ kind }) => kind === 'controller')?.heldBy
    expect(heldBy).toMatch(/variable `keptTerms` → Array\[0\] → Term → Controller `janitor`$/)
  })

  it('reports the leaks all the same when no snapshot can be taken', async () => {
    const failing = vi.spyOn(v8, 'writeHeapSnapshot').mockImplementation(() => {
      throw new Error('no space left on device')
    })
    syncBuiltinESMExports()
    const heldBy = await holderOf((term) => keptTerms.push(term))
    failing.mockRestore()
    syncBuiltinESMExports()
    keptTerms.length = 0
    expect(heldBy).toBe('an unknown path: no space left on device')
  })

  it('is off by default, and says that it is there', async () => {
    const snapshots = vi.spyOn(await import('../../src/leaks/heap-graph.ts'), 'takeHeapGraph')
    const check = expectNoLeaks(() => new Janitor((term) => keptTerms.push(term)), { terms: 1, termMs: 5, graceMs: 50 })
    const { leaks, message } = await errorOf(check)
    keptTerms.length = 0
    expect(leaks.map(({ heldBy }) => heldBy)).toEqual(leaks.map(() => ''))
    expect(message).not.toContain('held by')
    expect(message).toContain('`retainers: true`')
    expect(snapshots).not.toHaveBeenCalled()
  })
})
