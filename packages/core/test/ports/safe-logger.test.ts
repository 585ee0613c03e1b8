import { describe, expect, test, vi } from 'vitest'
import { OptionsError } from '../../src/options/options-error.ts'
import { type Logger, silentLogger } from '../../src/ports/logger.ts'
import { safeLogger } from '../../src/ports/safe-logger.ts'

describe('A logger that throws', () => {
  test('at a value gets the line with texts in the place of objects', () => {
    const lines: unknown[] = []
    const error = (fields: Readonly<Record<string, unknown>>, message: string): void => {
      if (typeof fields['err'] === 'object') throw new Error('cannot serialize')
      lines.push([fields, message])
    }
    safeLogger({ ...silentLogger, error }).error(
      { lease: 'a', restarts: 2, epoch: 7n, err: Object.create(null) },
      'failed',
    )
    expect(lines).toEqual([[{ lease: 'a', restarts: 2, epoch: '7', err: '[Object: null prototype] {}' }, 'failed']])
  })

  test('at everything costs the line, and is a warning of the process, once', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const fails = (): never => {
      throw new Error('disk full')
    }
    const logger = safeLogger({ debug: fails, info: fails, warn: fails, error: fails, child: fails } satisfies Logger)
    logger.info({}, 'a')
    logger.child({ lease: 'a' }).error({}, 'b')
    expect(warn.mock.calls).toEqual([
      ['The logger failed, and a line was lost: disk full', { code: 'TENURE_LOGGER_FAILED' }],
    ])
    vi.restoreAllMocks()
  })

  test('at every line of one level costs those lines alone', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const lines: unknown[] = []
    const info = (): never => {
      throw new Error('disk full')
    }
    const logger = safeLogger({ ...kept(lines), info })
    logger.info({}, 'a')
    logger.info({}, 'b')
    logger.warn({}, 'c')
    expect(lines).toEqual([['warn', {}, 'c']])
    expect(warn.mock.calls).toEqual([
      ['The logger failed, and a line was lost: disk full', { code: 'TENURE_LOGGER_FAILED' }],
    ])
    vi.restoreAllMocks()
  })

  test('is asked as itself, so that its methods find what belongs to it', () => {
    const lines: string[] = []
    class Mine implements Logger {
      readonly lines = lines
      debug(_: object, message: string): void {
        this.lines.push(message)
      }
      info(_: object, message: string): void {
        this.lines.push(message)
      }
      warn(_: object, message: string): void {
        this.lines.push(message)
      }
      error(_: object, message: string): void {
        this.lines.push(message)
      }
      child(): Logger {
        return this
      }
    }
    safeLogger(new Mine()).child({}).info({}, 'here')
    expect(lines).toEqual(['here'])
  })
})

/** A logger that keeps its lines, with what its parents bind. */
function kept(lines: unknown[], bindings: object = {}): Logger {
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push([level, { ...bindings, ...fields }, message])
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (more) => kept(lines, { ...bindings, ...more }),
  }
}

describe('A logger that works', () => {
  test('gets every line at its level, with the fields as they are', () => {
    const lines: unknown[] = []
    const logger = safeLogger(kept(lines))
    const err = new Error('boom')
    logger.debug({ a: 1 }, 'one')
    logger.info({ b: 2n }, 'two')
    logger.child({ lease: 'a' }).warn({ err }, 'three')
    logger.error({}, 'four')
    expect(lines).toEqual([
      ['debug', { a: 1 }, 'one'],
      ['info', { b: 2n }, 'two'],
      ['warn', { lease: 'a', err }, 'three'],
      ['error', {}, 'four'],
    ])
  })

  test('is wrapped once', () => {
    const logger = safeLogger(silentLogger)
    expect(safeLogger(logger)).toBe(logger)
    expect(logger).not.toBe(silentLogger)
  })

  test('may be a function with the methods of a logger', () => {
    const lines: unknown[] = []
    safeLogger(Object.assign(() => {}, kept(lines))).info({}, 'here')
    expect(lines).toEqual([['info', {}, 'here']])
  })
})

const WHAT =
  'Expected `logger` to be a logger such as one of pino, with `debug()`, `info()`, `warn()`, `error()` and `child()`, got '

test.each([
  ['`null`', null],
  ['`undefined`', undefined],
  ['`console` (string)', 'console'],
])('A logger cannot be %s', (said, logger) => {
  expect(() => safeLogger(logger as never)).toThrow(OptionsError)
  expect(() => safeLogger(logger as never)).toThrow(new OptionsError(`${WHAT}${said}`))
})

test.each(['debug', 'info', 'warn', 'error', 'child'] as const)('A logger needs the method %s', (method) => {
  for (const logger of [
    { ...silentLogger, [method]: undefined },
    { ...silentLogger, [method]: 'info' },
  ]) {
    expect(() => safeLogger(logger as never)).toThrow(new OptionsError(`${WHAT}one without \`${method}()\``))
  }
})

test('A line that is written with texts keeps the values that are no objects', () => {
  const lines: unknown[] = []
  const info = (fields: Readonly<Record<string, unknown>>, message: string): void => {
    if (typeof fields['err'] === 'object') throw new Error('cannot serialize')
    lines.push([fields, message])
  }
  const plain = { text: 'a'.repeat(2000), count: 2, isSet: true, none: null, missing: undefined }
  safeLogger({ ...silentLogger, info }).info({ ...plain, err: new Error('boom'), of: Symbol.for('x') }, 'failed')
  expect(lines).toEqual([[{ ...plain, err: 'boom', of: 'Symbol(x)' }, 'failed']])
})

test('A logger that cannot make a child logs without the bindings, after a warning of the process', () => {
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  const lines: unknown[] = []
  const child = (): never => {
    throw new Error('no child')
  }
  const logger = safeLogger({ ...kept(lines), child })
  logger.child({ lease: 'a' }).info({}, 'here')
  logger.child({ lease: 'b' })
  expect(lines).toEqual([['info', {}, 'here']])
  expect(warn.mock.calls).toEqual([
    ['The logger failed, and a line was lost: no child', { code: 'TENURE_LOGGER_FAILED' }],
  ])
  vi.restoreAllMocks()
})

test('A silent logger writes nothing, as do its children', () => {
  expect(silentLogger.child({ lease: 'a' })).toBe(silentLogger)
  for (const level of ['debug', 'info', 'warn', 'error'] as const) expect(silentLogger[level]({}, 'a')).toBeUndefined()
})
