import { describe, expect, test, vi } from 'vitest'
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
