import { OptionsError } from '../options/options-error.ts'
import { textOf } from '../text-of.ts'
import type { Logger, LogMethod } from './logger.ts'

/**
 * Wraps the given logger so that it never throws. If it cannot write a line, for example because a getter of an error throws, it writes
 * the line with texts in place of objects. If that fails too, the first lost line causes a process warning.
 * @throws OptionsError for a value that is not a logger.
 */
export function safeLogger(logger: Logger): Logger {
  if (logger instanceof SafeLogger) return logger
  assertLogger(logger)
  return new SafeLogger(logger)
}

const METHODS = ['debug', 'info', 'warn', 'error', 'child'] as const satisfies readonly (keyof Logger)[]

function assertLogger(logger: unknown): void {
  const what =
    '`logger` to be a logger such as one of pino, with `debug()`, `info()`, `warn()`, `error()` and `child()`'
  if ((typeof logger !== 'object' || logger === null) && typeof logger !== 'function') {
    throw OptionsError.expected(what, logger)
  }
  const missing = METHODS.find((method) => typeof Reflect.get(logger, method) !== 'function')
  if (missing !== undefined) throw new OptionsError(`Expected ${what}, got one without \`${missing}()\``)
}

type Level = 'debug' | 'info' | 'warn' | 'error'

class SafeLogger implements Logger {
  readonly #logger: Logger
  readonly #onLost: (cause: unknown) => void

  constructor(logger: Logger, onLost: (cause: unknown) => void = warnOnce()) {
    this.#logger = logger
    this.#onLost = onLost
  }

  readonly debug: LogMethod = (fields, message) => this.#write('debug', fields, message)
  readonly info: LogMethod = (fields, message) => this.#write('info', fields, message)
  readonly warn: LogMethod = (fields, message) => this.#write('warn', fields, message)
  readonly error: LogMethod = (fields, message) => this.#write('error', fields, message)

  child(bindings: Readonly<Record<string, unknown>>): Logger {
    try {
      return new SafeLogger(this.#logger.child(bindings), this.#onLost)
    } catch (cause) {
      this.#onLost(cause)
      return this
    }
  }

  #write(level: Level, fields: Readonly<Record<string, unknown>>, message: string): void {
    try {
      this.#logger[level](fields, message)
    } catch {
      this.#writeTexts(level, fields, message)
    }
  }

  #writeTexts(level: Level, fields: Readonly<Record<string, unknown>>, message: string): void {
    const texts = Object.entries(fields).map(([key, value]) => [key, isPlain(value) ? value : textOf(value)])
    try {
      this.#logger[level](Object.fromEntries(texts), message)
    } catch (cause) {
      this.#onLost(cause)
    }
  }
}

function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean', 'undefined'].includes(typeof value) || value === null
}

function warnOnce(): (cause: unknown) => void {
  let hasWarned = false
  return (cause) => {
    if (hasWarned) return
    hasWarned = true
    process.emitWarning(`The logger failed, and a line was lost: ${textOf(cause)}`, { code: 'TENURE_LOGGER_FAILED' })
  }
}
