import { readFileSync } from 'node:fs'
import { stripVTControlCharacters, styleText } from 'node:util'
import { LockRequestError, type Logger, MemoryLeaseStore, OptionsError, WedgedError } from '@tenure/core'
import { ScopeClosedError } from '@tenure/core/internal'
import pino from 'pino'
import { createManager } from 'tenure'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { REMEDIES } from '../src/remedies.ts'
import { terminalLogger, type TerminalLoggerOptions } from '../src/terminal-log.ts'

/** A logger on a terminal with colours, and what it has written. */
function terminal(options: Partial<TerminalLoggerOptions> = {}) {
  let written = ''
  const logger = terminalLogger({
    level: 'debug',
    env: {},
    now: () => new Date(2026, 0, 2, 3, 4, 5, 6),
    terminal: { write: (text) => (written += text), hasColors: () => true },
    ...options,
  })
  return { logger, written: () => written, lines: () => stripVTControlCharacters(written).trimEnd().split('\n') }
}

/** What the terminal shows, without colours. */
function shown(write: (logger: Logger) => void): readonly string[] {
  const { logger, lines } = terminal()
  write(logger)
  return lines()
}

const FORBIDDEN = new LockRequestError(
  'forbidden',
  'Could not update leases.coordination.k8s.io ops/janitor: 403 Forbidden. Add "update" on leases to the Role of ops/janitor.',
)

describe('In a terminal', () => {
  test('a line has the time, the level, the lease with its epoch, and the message', () => {
    expect(shown((logger) => logger.info({ lease: 'janitor', epoch: 7n, event: 'term-began' }, 'term began'))).toEqual([
      '03:04:05.006 INFO  janitor#7 term began',
    ])
  })

  test('a line of a controller names it', () => {
    const write = (logger: Logger) => logger.child({ lease: 'janitor', controller: 'sweeper' }).warn({}, 'late')
    expect(shown(write)).toEqual(['03:04:05.006 WARN  janitor sweeper late'])
  })

  test('an error of Tenure has one line for its cause and one for its remedy', () => {
    const fields = { lease: 'janitor', event: 'request-failed', err: FORBIDDEN }
    expect(shown((logger) => logger.warn(fields, FORBIDDEN.message))).toEqual([
      '03:04:05.006 WARN  janitor request failed',
      '                   cause  Could not update leases.coordination.k8s.io ops/janitor: 403 Forbidden',
      '                   remedy Add "update" on leases to the Role of ops/janitor.',
    ])
  })

  test.each(['late:boom', 'late: boom', 'late:\n boom', 'late boom'])(
    'the text of the error is cut off %j',
    (message) => {
      const [headline] = shown((logger) => logger.warn({ err: new LockRequestError('conflict', 'boom') }, message))
      expect(headline).toBe('03:04:05.006 WARN  late')
    },
  )

  test('an error whose message has no remedy gets that of its code', () => {
    const err = new OptionsError('Expected `lease.name` to be a text, got `7`')
    expect(shown((logger) => logger.error({ err }, `could not start: ${err.message}`))).toEqual([
      '03:04:05.006 ERROR could not start',
      '                   cause  Expected `lease.name` to be a text, got `7`',
      '                   remedy Correct the option, flag or variable that the message names.',
    ])
  })

  test('a failed request gets the remedy of its failure, and the cause of its cause', () => {
    const err = new LockRequestError('unreachable', 'Could not reach it', { cause: new Error('connect ECONNREFUSED') })
    expect(shown((logger) => logger.warn({ err }, 'away')).slice(1)).toEqual([
      '                   cause  Could not reach it: connect ECONNREFUSED',
      '                   remedy Check whether the server of the lease runs, and its address.',
    ])
  })

  test('an error that resolves itself has no line for a remedy', () => {
    const err = new LockRequestError('conflict', 'Could not update it: 409 Conflict')
    expect(shown((logger) => logger.warn({ err }, 'again')).slice(1)).toEqual([
      '                   cause  Could not update it: 409 Conflict',
    ])
  })

  test('an error of the program has its cause and its place in one line', () => {
    const err = new Error('boom')
    const [headline, cause, ...more] = shown((logger) =>
      logger.error({ lease: 'janitor', event: 'controller-failed', err }, 'controller sweeper failed, giving up: boom'),
    )
    expect(headline).toBe('03:04:05.006 ERROR janitor controller sweeper failed, giving up')
    expect(cause).toMatch(/^ {19}cause {2}boom, at \S+terminal-log\.test\.ts:\d+:\d+$/)
    expect(more).toEqual([])
  })

  test('a wedged drain has the remedy of its error', () => {
    const lines = shown((logger) => logger.error({ event: 'wedged' }, 'drain did not end in time, still running: a'))
    expect(lines[1]).toMatch(/^ {19}remedy Find the task that the message names/)
    expect(shown((logger) => logger.error({ err: new WedgedError('janitor', []) }, 'over')).at(-1)).toBe(lines[1])
  })

  test('a text of others stays on its line, and the terminal obeys none of it', () => {
    const err = new LockRequestError('rejected', 'one\ntwo \u001b[2Jthree')
    const { logger, written } = terminal({ env: { NO_COLOR: '1' } })
    logger.warn({ lease: 'a\u0007', err }, 'bad\r\nline')
    expect(written()).toContain('bad line\n')
    expect(written()).toContain('cause  one two  [2Jthree\n')
    expect(written().replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  })

  test.each<[string, LockRequestError['failure'], string | undefined]>([
    [
      'that are not accepted',
      'unauthenticated',
      'Check where the token or the certificate comes from, and whether it has expired.',
    ],
    ['that the server refuses for another reason', 'rejected', undefined],
  ])('a failed request with credentials %s has the remedy for that', (_what, failure, remedy) => {
    const lines = shown((logger) => logger.warn({ err: new LockRequestError(failure, 'Could not read it') }, 'x'))
    expect(lines.slice(2)).toEqual(remedy === undefined ? [] : [`                   remedy ${remedy}`])
  })

  test('an error whose remedy is to do nothing has no line for it', () => {
    const err = new ScopeClosedError('sweep', 'janitor')
    expect(shown((logger) => logger.warn({ err }, 'x')).slice(1)).toEqual([`                   cause  ${err.message}`])
  })

  test('an error without a message of its own is headed by its event, or as a failure', () => {
    const err = new OptionsError('Wrong')
    const head = (fields: object) => shown((logger) => logger.warn({ ...fields, err }, err.message))[0]
    expect(head({ event: 'request-failed-once-more' })).toBe('03:04:05.006 WARN  request failed once more')
    expect(head({})).toBe('03:04:05.006 WARN  failed')
  })

  test('a remedy begins with the second sentence, not within a version or an address', () => {
    const err = new OptionsError('Expected 1.2 of a.b, got c. d. `x` is right. Or y')
    expect(shown((logger) => logger.warn({ err }, 'x')).slice(1)).toEqual([
      '                   cause  Expected 1.2 of a.b, got c. d',
      '                   remedy `x` is right. Or y',
    ])
  })

  test('the cause of a cause is not said twice, and what is thrown need not be an error', () => {
    const err = new LockRequestError('conflict', 'Could not: reset', { cause: new Error('reset') })
    expect(shown((logger) => logger.warn({ err }, 'x'))[1]).toBe('                   cause  Could not: reset')
    expect(shown((logger) => logger.warn({ err: 'a text' }, 'x'))).toEqual([
      '03:04:05.006 WARN  x',
      '                   cause  a text',
    ])
  })

  test('the place of an error is its first line of the program', () => {
    const placeOf = (stack: string) => {
      const err = Object.assign(new Error('boom'), { stack })
      return /boom(.*)$/.exec(shown((logger) => logger.error({ err }, 'x'))[1] ?? '')?.[1]
    }
    const at = (...frames: string[]) => ['Error: boom', ...frames.map((frame) => `    at ${frame}`)].join('\n')
    expect(placeOf(at('run (node:fs:1:1)', 'f (/a/node_modules/b/c.js:2:2)', 'sweep (file:///app/a.ts:3:7)'))).toBe(
      ', at /app/a.ts:3:7',
    )
    expect(placeOf(at('/app/a.ts:3:7', 'sweep (/app/b.ts:4:8)'))).toBe(', at /app/a.ts:3:7')
    expect(placeOf(at('eval (eval at sweep (/app/a.ts:3:7), <anonymous>:1:2)'))).toBe(', at <anonymous>:1:2')
    expect(placeOf(at('sweep (blob:file:///app/a.ts:3:7)'))).toBe(', at blob:file:///app/a.ts:3:7')
    expect(placeOf(at('async Promise.all (index 0)'))).toBe('')
    expect(placeOf('Error: boom at (/app/a.ts:3:7)')).toBe('')
    expect(placeOf('')).toBe('')
  })

  test('a line break or a colon at the end of the message does not stay where the error is cut from it', () => {
    const err = new OptionsError('Wrong')
    expect(shown((logger) => logger.warn({ err }, 'a: b: Wrong'))[0]).toBe('03:04:05.006 WARN  a: b')
    expect(shown((logger) => logger.warn({ err }, ' Wrong is it '))[0]).toBe('03:04:05.006 WARN  is it')
  })

  test('a field of another type is no part of the line', () => {
    expect(shown((logger) => logger.warn({ lease: 7 }, 'x'))).toEqual(['03:04:05.006 WARN  x'])
    expect(shown((logger) => logger.warn({ lease: 'a', epoch: 7, controller: 8 }, 'x'))).toEqual([
      '03:04:05.006 WARN  a x',
    ])
  })

  test.each([
    ['debug', 4],
    ['info', 3],
    ['warn', 2],
    ['error', 1],
    ['silent', 0],
  ] as const)('the level %s lets %d of four lines pass', (level, count) => {
    const { logger, written } = terminal({ level })
    for (const one of ['debug', 'info', 'warn', 'error'] as const) logger[one]({}, 'a line')
    expect(written().split('\n').length - 1).toBe(count)
  })
})

test('the remedy of every code is the one of the reference', () => {
  const page = readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8')
  const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  const documented = rows.filter(([, code = '']) => /^`[A-Z_]+`$/.test(code))
  const remedies = documented.map(
    ([, code = '', ...cells]) => [code.replaceAll('`', ''), cells[4]?.replace(/ See \[.*\.$/, '')] as const,
  )
  expect(REMEDIES).toEqual(Object.fromEntries(remedies))
})

describe('Colours', () => {
  const hasColours = (options: Partial<TerminalLoggerOptions>) => {
    const { logger, written } = terminal(options)
    logger.warn({ lease: 'janitor' }, 'late')
    return written() !== stripVTControlCharacters(written())
  }

  test('are there in a terminal that has some', () => {
    expect(hasColours({})).toBe(true)
  })

  test('are not there with `NO_COLOR`, unless it is empty', () => {
    expect(hasColours({ env: { NO_COLOR: '1' } })).toBe(false)
    expect(hasColours({ env: { NO_COLOR: '1', FORCE_COLOR: '1' } })).toBe(false)
    expect(hasColours({ env: { NO_COLOR: '' } })).toBe(true)
  })

  test('are not there in a terminal that has none', () => {
    const seen: string[] = []
    const write = (text: string) => seen.push(text)
    for (const colours of [{ hasColors: () => false }, {}]) {
      terminal({ terminal: { write, ...colours } }).logger.warn({ lease: 'janitor' }, 'late')
    }
    expect(seen).toEqual(Array.from({ length: 2 }, () => '03:04:05.006 WARN  janitor late\n'))
  })

  test('set the level apart, and the lease from the message', () => {
    const { logger, written } = terminal()
    for (const level of ['debug', 'info', 'warn', 'error'] as const) logger[level]({ lease: 'janitor' }, level)
    logger.error({ err: new OptionsError('Wrong') }, 'x')
    const paint = (style: Parameters<typeof styleText>[0], text: string) =>
      styleText(style, text, { validateStream: false })
    const time = paint('dim', '03:04:05.006')
    const lease = paint('bold', 'janitor')
    const indent = ' '.repeat(19)
    expect(written().split('\n')).toEqual([
      `${time} ${paint('dim', 'DEBUG')} ${lease} debug`,
      `${time} ${paint('green', 'INFO ')} ${lease} info`,
      `${time} ${paint('yellow', 'WARN ')} ${lease} warn`,
      `${time} ${paint('red', 'ERROR')} ${lease} error`,
      `${time} ${paint('red', 'ERROR')} x`,
      `${indent}${paint('dim', 'cause ')} Wrong`,
      `${indent}${paint('dim', 'remedy')} Correct the option, flag or variable that the message names.`,
      '',
    ])
  })
})

describe('The default logger', () => {
  const isTTY = Object.getOwnPropertyDescriptor(process.stdout, 'isTTY')
  afterEach(() => {
    vi.restoreAllMocks()
    if (isTTY === undefined) Reflect.deleteProperty(process.stdout, 'isTTY')
    else Object.defineProperty(process.stdout, 'isTTY', isTTY)
  })

  const FOR_PEOPLE = /^\d\d:\d\d:\d\d\.\d{3} INFO {2}janitor#1 term began$/m
  const JSON_LINE = /^\{"level":30,.*"lease":"janitor",.*"msg":"term began"\}$/m

  test.each([
    [true, { NO_COLOR: '1' }, 'for people', FOR_PEOPLE],
    [
      true,
      { FORCE_COLOR: '1' },
      'for people, in colours',
      `${styleText('green', 'INFO ', { validateStream: false })} `,
    ],
    [false, { NO_COLOR: '1' }, 'JSON', JSON_LINE],
    [false, { NO_COLOR: '1', _TENURE_TERMINAL: '1' }, 'for people', FOR_PEOPLE],
    [false, { NO_COLOR: '1', _TENURE_TERMINAL: '0' }, 'JSON', JSON_LINE],
  ])('with a terminal: %s, and %j, writes %s', async (value, env, _form, line) => {
    Object.defineProperty(process.stdout, 'isTTY', { configurable: true, value })
    const written: string[] = []
    const destination = { write: (text: string) => written.push(text) > 0 }
    vi.spyOn(pino, 'destination').mockReturnValue(destination as unknown as ReturnType<typeof pino.destination>)
    const store = new MemoryLeaseStore()
    const manager = createManager({
      lease: { name: 'janitor' },
      lock: ({ name }) => store.lock(name),
      ops: false,
      signals: false,
      env,
      argv: [],
    })
    const began = new Promise<void>((resolve) => manager.on(({ kind }) => kind === 'term-began' && resolve()))
    const running = manager.start()
    await began
    await manager.stop()
    await running
    expect(written.join('')).toMatch(line)
    // The last lines before an exit matter most.
    expect(pino.destination).toHaveBeenCalledExactlyOnceWith({ sync: true })
  })
})
