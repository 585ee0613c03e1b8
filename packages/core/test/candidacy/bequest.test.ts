import { describe, expect, test } from 'vitest'
import type { Inherited, Term } from '../../src/term/term.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { freshTerm } from '../support/fresh-term.ts'
import { Replica, untilEnd } from '../support/replica.ts'

interface Seen {
  readonly epoch: bigint
  readonly inherited: Inherited | undefined
  readonly versions: Readonly<Record<string, string>> | undefined
}

/** What a term does before it ends. */
type Work = (term: Term & { noteVersion(collection: string, version: string): void }) => void

/** Two replicas on one lease, `a` leads. What each term finds is in `seen`. */
async function pair(work: Work = () => {}) {
  const seen: Seen[] = []
  const a = new Replica({ identity: 'a' })
  const b = new Replica({ identity: 'b', store: a.store, clock: a.clock })
  for (const replica of [a, b]) {
    await replica
      .runs(async (term) => {
        const versions = term.predecessor && Object.fromEntries(term.predecessor.versions)
        seen.push({ epoch: term.epoch, inherited: term.inherited, versions })
        term.defer(() => work(term as Parameters<Work>[0]))
        await untilEnd(term)
      })
      .start()
  }
  const handOver = async (from: Replica, to?: string) => {
    void from.candidacy.stepDown(to === undefined ? {} : { to })
    await a.clock.advance(500)
  }
  return { a, b, seen, handOver, clock: a.clock, store: a.store }
}

/** Ends the leader as a crash would: the lease keeps its holder and expires. */
async function crash(replica: Replica): Promise<void> {
  replica.lock.failure = 'unreachable'
  await replica.clock.advance(60_000)
}

describe('A value that a term bequeaths', () => {
  test.each([
    ['released', undefined],
    ['transferred', 'b'],
  ])('is inherited by the next term of the controller when the lease is %s', async (_, to) => {
    const { a, seen, handOver } = await pair((term) => term.bequeath({ cursor: Number(term.epoch) }))
    await handOver(a, to)
    expect(seen[0]).toMatchObject({ inherited: undefined })
    expect(seen[1]).toMatchObject({ inherited: { epoch: seen[0]?.epoch, value: { cursor: Number(seen[0]?.epoch) } } })
  })

  test('can be logged as JSON with its epoch, as can the versions of the predecessor', async () => {
    const texts: string[] = []
    const { a, b, seen, handOver } = await pair((term) => {
      texts.push(JSON.stringify([term.inherited, term.predecessor]))
      term.bequeath({ cursor: 1 })
      term.noteVersion('pods/default', '7')
    })
    await handOver(a)
    await handOver(b)
    const [left] = seen
    expect(JSON.parse(texts.at(-1) ?? '')).toEqual([
      { epoch: String(left?.epoch), value: { cursor: 1 } },
      { versions: { 'pods/default': '7', '*': '' } },
    ])
  })

  test('costs no write', async () => {
    const writes = async (work: Work) => {
      const { a, store, handOver } = await pair(work)
      await handOver(a)
      const lease = store.read('lease')
      return lease.kind === 'present' ? lease.version : undefined
    }
    expect(await writes((term) => term.bequeath('x'))).toBe(await writes(() => {}))
  })

  test('stays with its epoch when a later term crashes, and when one leaves nothing', async () => {
    const { a, b, seen, handOver } = await pair((term) => {
      if (term.epoch === 1n) term.bequeath('first')
    })
    await handOver(a)
    await crash(b)
    await handOver(a)
    b.lock.failure = undefined
    await b.clock.advance(60_000)
    expect(seen.slice(1).map(({ inherited }) => inherited)).toEqual(
      seen.slice(1).map(() => ({ epoch: 1n, value: 'first' })),
    )
    expect(seen.length).toBeGreaterThan(2)
  })

  test('is not written by a term that loses its lease', async () => {
    const { a, seen } = await pair((term) => term.bequeath('late'))
    await crash(a)
    expect(seen[1]).toMatchObject({ inherited: undefined })
  })

  test('belongs to the controller that left it', async () => {
    const found: unknown[] = []
    const replica = new Replica()
    for (const name of ['one', 'two']) {
      replica.runs(async (term) => {
        found.push(`${name}: ${JSON.stringify(term.inherited?.value)}`)
        if (term.inherited === undefined) term.bequeath(name)
        await untilEnd(term)
      }, name)
    }
    await replica.start()
    void replica.candidacy.stepDown({ cooldownMs: 0 })
    await replica.clock.advance(1000)
    expect(found).toEqual(['one: undefined', 'two: undefined', 'one: "one"', 'two: "two"'])
  })

  test('is a copy for each run of the controller', async () => {
    const found: unknown[] = []
    const { a, b, handOver } = await pair((term) => {
      term.bequeath({ cursor: 1 })
      const inherited = term.inherited?.value as { cursor: number } | undefined
      if (inherited !== undefined) inherited.cursor = 2
      found.push(term.inherited?.value)
    })
    await handOver(a)
    await handOver(b)
    expect(found).toContainEqual({ cursor: 1 })
    expect(found).not.toContainEqual({ cursor: 2 })
  })

  test('does not change with the object that was given, and the last call counts', async () => {
    const value = { cursor: 1 }
    const { a, seen, handOver } = await pair((term) => {
      term.bequeath('draft')
      term.bequeath(value)
      value.cursor = 2
    })
    await handOver(a)
    expect(seen[1]).toMatchObject({ inherited: { value: { cursor: 1 } } })
  })
})

/** An object whose field can be read once. */
function throwsSecondTime(): object {
  let reads = 0
  return {
    get cursor() {
      reads += 1
      if (reads > 1) throw new Error('no')
      return reads
    },
  }
}

/** What a term is refused that bequeaths these values, one after the other, and ends. */
async function refusals(values: readonly unknown[]) {
  const refused: Error[] = []
  const { a, seen, handOver } = await pair((term) => {
    for (const value of values) {
      try {
        term.bequeath(value)
      } catch (error) {
        refused.push(error as Error)
      }
    }
  })
  await handOver(a)
  return { seen, refused }
}

describe('A value that cannot be bequeathed', () => {
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  test.each([
    ['nothing', undefined, '`undefined`'],
    ['a function', () => {}, '(function)'],
    ['a bigint', 1n, '`1` (bigint)'],
    ['NaN', Number.NaN, '`NaN` (number)'],
    ['a date', new Date(0), '(object)'],
    ['a field that is undefined', { cursor: undefined }, '(object)'],
    ['a cycle', cycle, '(object)'],
    ['a symbol', Symbol('cursor'), '`Symbol(cursor)` (symbol)'],
    ['infinity', [Infinity], '(array)'],
    ['a bigint in an object', { cursor: 1n }, '(object)'],
    ['a map', new Map([['cursor', 1]]), '(object)'],
    ['a hole in an array', [, 1], '(array)'], // oxlint-disable-line no-sparse-arrays -- that is what is tested
    ['an object that throws when it is read again', throwsSecondTime(), '(object)'],
    [
      'an object that throws',
      {
        toJSON: () => {
          throw new Error('no')
        },
      },
      '(object)',
    ],
  ])('is refused: %s', async (_, value, got) => {
    const errors: unknown[] = []
    const { a, seen, handOver } = await pair((term) => {
      term.bequeath('before')
      try {
        term.bequeath(value)
      } catch (error) {
        errors.push(error)
      }
    })
    await handOver(a)
    expect(errors).toMatchObject([{ code: 'BAD_OPTIONS', message: expect.stringContaining(got) as string }])
    expect(String(errors[0])).toContain('Expected `value` of `term.bequeath(value)` to be a JSON value')
    expect(seen[1]).toMatchObject({ inherited: { value: 'before' } })
  })

  test('is refused with its size: 4097 bytes, and not 4096', async () => {
    const { seen, refused } = await refusals(['ü'.repeat(2047), `${'ü'.repeat(2047)}x`])
    expect(refused).toMatchObject([
      { message: 'Expected `value` of `term.bequeath(value)` to have at most 4096 bytes of JSON, got 4097 bytes' },
    ])
    expect(seen[1]).toMatchObject({ inherited: { value: 'ü'.repeat(2047) } })
  })

  test('is refused by its size before anything else is done with it', async () => {
    const deep = Array.from({ length: 2000 }).reduce<unknown>((inner) => [inner], undefined)
    const { refused } = await refusals([
      'x'.repeat(10_000_000),
      Array.from({ length: 100_000 }, () => Number.NaN),
      [deep, 'x'.repeat(100)],
    ])
    expect(refused.map(({ message }) => /got \d+ bytes/.exec(message)?.[0])).toEqual([
      'got 10000002 bytes',
      'got 500001 bytes',
      'got 4109 bytes',
    ])
  })

  test('is refused with what it threw itself as the cause', async () => {
    const { refused } = await refusals([throwsSecondTime(), 1n])
    expect(refused.map(({ cause }) => cause)).toEqual([new Error('no'), expect.any(TypeError)])
  })

  test('is refused after the term has ended, because no write carries it', async () => {
    const terms: Term[] = []
    const { a, seen, handOver } = await pair((term) => {
      terms.push(term)
      term.bequeath('last')
    })
    await handOver(a)
    expect(() => terms[0]?.bequeath('late')).toThrow(
      expect.objectContaining({
        code: 'NOT_HELD',
        message: 'Controller `janitor` may not act: `lease` is not held by the term with epoch 1',
      }),
    )
    expect(seen[1]).toMatchObject({ inherited: { value: 'last' } })
  })

  test('is refused when all controllers of the lease would leave more than 32 KB', async () => {
    const refused: string[] = []
    const replica = new Replica()
    for (let index = 0; index < 9; index++) {
      replica.runs(async (term) => {
        try {
          // The second value takes the place of the first.
          term.bequeath('x'.repeat(4094))
          term.bequeath('y'.repeat(4094))
        } catch (error) {
          refused.push((error as Error).message)
        }
        await untilEnd(term)
      }, `c${index}`)
    }
    await replica.start()
    expect(refused).toEqual([
      'Expected the values of all controllers of a lease to have at most 32768 bytes of JSON, got 36864 bytes ' +
        'with `value` of `term.bequeath(value)` of controller `c8`',
    ])
  })
})

describe('The versions that a term has written', () => {
  const writing: Work = (term) => {
    term.noteVersion('pods', '9')
    term.noteVersion('pods', '10')
    term.noteVersion('pods', '8')
    term.noteVersion('apps/deployments', '7')
    term.noteVersion('apps/deployments', '')
    term.noteVersion('metrics.example/loads', 'v1')
    term.noteVersion('metrics.example/spans', '12x')
  }

  test.each([
    ['released', undefined],
    ['transferred', 'b'],
  ])('are known to the next term when the lease is %s: the greatest, or none if it is not known', async (_, to) => {
    const { a, seen, handOver } = await pair(writing)
    await handOver(a, to)
    expect(seen[0]).toMatchObject({ versions: undefined })
    expect(seen[1]?.versions).toEqual({
      '*': '',
      pods: '10',
      'apps/deployments': '',
      'metrics.example/loads': '',
      'metrics.example/spans': '',
    })
  })

  test('are not known after a crash, also when an earlier term left its versions', async () => {
    const { a, b, seen, handOver } = await pair((term) => term.noteVersion('pods', '5'))
    await handOver(a)
    await crash(b)
    expect(seen.map(({ versions }) => versions)).toEqual([undefined, { '*': '', pods: '5' }, undefined])
  })

  test('are not known if another client led in between', async () => {
    const { a, b, seen, handOver, store, clock } = await pair((term) => term.noteVersion('pods', '5'))
    b.lock.failure = 'unreachable'
    await handOver(a)
    const released = store.read('lease')
    if (released.kind !== 'present') throw new Error('Expected a lease')
    const write = (base: typeof released, change: Partial<LeaseRecord>) =>
      store.lock('lease').update(base, { ...base.record, ...change }, { signal: new AbortController().signal })
    const times = (time: string) => ({ acquireTime: time, renewTime: time })
    const foreign = await write(released, {
      holderIdentity: 'client-go',
      leaseTransitions: 9,
      ...times('2026-01-01T00:00:00.000000Z'),
    })
    await write(foreign, { holderIdentity: '', ...times('2026-01-01T00:00:05.000000Z') })
    b.lock.failure = undefined
    await clock.advance(60_000)
    expect(seen.map(({ versions }) => versions)).toEqual([undefined, undefined])
  })

  test('are passed on by terms that write nothing or something else, and replaced by those that write the same', async () => {
    const writes = [['pods', '5'], undefined, ['nodes', '9'], ['pods', '12']] as const
    const { a, b, seen, handOver } = await pair((term) => {
      const [collection, version] = writes[seen.length - 1] ?? []
      if (collection !== undefined) term.noteVersion(collection, version ?? '')
    })
    for (const leader of [a, b, a, b]) await handOver(leader)
    expect(seen.map(({ versions }) => versions)).toEqual([
      undefined,
      { '*': '', pods: '5' },
      { '*': '', pods: '5' },
      { '*': '', pods: '5', nodes: '9' },
      { '*': '', pods: '12', nodes: '9' },
    ])
  })

  test('stay unknown after a term that wrote nothing and did not know them', async () => {
    const { a, seen, handOver } = await pair()
    await handOver(a)
    expect(seen[1]?.versions).toEqual({ '*': '' })
  })

  test('are not known if they take more than 2 KB', async () => {
    const { a, seen, handOver } = await pair((term) => {
      term.bequeath('kept')
      for (let index = 0; index < 200; index++) term.noteVersion(`group.example/resource${index}`, '1')
    })
    await handOver(a)
    expect(seen[1]).toMatchObject({ versions: undefined, inherited: { value: 'kept' } })
  })
})

describe('A controller that needs no leadership', () => {
  test('inherits nothing and cannot bequeath', () => {
    const { term } = freshTerm()
    expect([term.inherited, term.predecessor]).toEqual([undefined, undefined])
    expect(() => term.bequeath('x')).toThrow('Controller `janitor` may not act: it runs outside of a term')
  })
})
