import { styleText } from 'node:util'
import { LockRequestError, type Logger, TenureError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { REMEDIES } from './remedies.ts'

/** The part of a terminal that the logger uses. */
interface Terminal {
  write(text: string): unknown
  hasColors?(env: NodeJS.ProcessEnv): boolean
}

/** Options of {@link terminalLogger}. */
export interface TerminalLoggerOptions {
  /** The least level that is written. */
  readonly level: Level | 'silent'
  readonly terminal: Terminal
  /** `NO_COLOR` and `TERM` decide about colours. */
  readonly env: NodeJS.ProcessEnv
  /** The wall clock. @default that of the machine */
  readonly now?: () => Date
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const
type Level = (typeof LEVELS)[number]
type Style = Parameters<typeof styleText>[0]

const STYLES: Readonly<Record<Level, Style>> = { debug: 'dim', info: 'green', warn: 'yellow', error: 'red' }

/** What the fields of a line add to its message. */
interface Explanation {
  readonly headline: string
  readonly cause?: string
  readonly remedy?: string
}

/** Below the message, after the time and the level. */
const INDENT = ' '.repeat('00:00:00.000 ERROR '.length)

/** A logger for people: one line for each message, and below it, if there is an error, a line with its cause and one with its remedy. */
export function terminalLogger(options: TerminalLoggerOptions, bindings: Fields = {}): Logger {
  const paint = painter(options)
  const write = (level: Level, fields: Fields, message: string) => {
    if (options.level === 'silent' || LEVELS.indexOf(level) < LEVELS.indexOf(options.level)) return
    const all = { ...bindings, ...fields }
    const { headline, cause, remedy } = explain(all, message)
    const time = timeOf(options.now?.() ?? new Date())
    const lines = [
      `${paint('dim', time)} ${paint(STYLES[level], level.toUpperCase().padEnd(5))} ${subject(all, paint)}${oneLine(headline)}`,
      ...(cause === undefined ? [] : [`${INDENT}${paint('dim', 'cause ')} ${oneLine(cause)}`]),
      ...(remedy === undefined ? [] : [`${INDENT}${paint('dim', 'remedy')} ${oneLine(remedy)}`]),
    ]
    options.terminal.write(`${lines.join('\n')}\n`)
  }
  const method =
    (level: Level): Logger[Level] =>
    (fields, message) =>
      write(level, fields, message)
  return {
    debug: method('debug'),
    info: method('info'),
    warn: method('warn'),
    error: method('error'),
    child: (more) => terminalLogger(options, { ...bindings, ...more }),
  }
}

type Fields = Readonly<Record<string, unknown>>
type Paint = (style: Style, text: string) => string

function painter({ terminal, env }: TerminalLoggerOptions): Paint {
  const isPlain = Boolean(env['NO_COLOR']) || terminal.hasColors?.(env) !== true
  return (style, text) => (isPlain ? text : styleText(style, text, { validateStream: false }))
}

function timeOf(now: Date): string {
  const part = (value: number, digits: number) => String(value).padStart(digits, '0')
  const clock = [now.getHours(), now.getMinutes(), now.getSeconds()].map((value) => part(value, 2)).join(':')
  return `${clock}.${part(now.getMilliseconds(), 3)}`
}

/** The lease, its term and the controller that the line is about. */
function subject({ lease, epoch, controller }: Fields, paint: Paint): string {
  if (typeof lease !== 'string') return ''
  const term = typeof epoch === 'bigint' ? `#${epoch}` : ''
  const part = typeof controller === 'string' ? ` ${controller}` : ''
  return `${paint('bold', oneLine(`${lease}${term}${part}`))} `
}

function explain({ err, event }: Fields, message: string): Explanation {
  if (err === undefined)
    return event === 'wedged' ? withRemedy({ headline: message }, REMEDIES['WEDGED']) : { headline: message }
  const text = textOf(err)
  const headline = withoutText(message, text) || (typeof event === 'string' ? event : 'failed').replaceAll('-', ' ')
  const [cause, own] = err instanceof TenureError ? sentences(text) : [text + placeOf(err), undefined]
  return withRemedy({ headline, cause: cause + deeper(err, text) }, own ?? remedyOf(err))
}

function withRemedy(explanation: Explanation, remedy: string | undefined): Explanation {
  return remedy === undefined ? explanation : { ...explanation, remedy }
}

/** The message without the text of its error, which has a line of its own. */
function withoutText(message: string, text: string): string {
  return message.replace(text, '').replace(/:\s*$/, '').trim()
}

/** The messages of errors of Tenure end with a remedy, if there is one: what comes after the first sentence. */
function sentences(text: string): readonly [cause: string, remedy: string | undefined] {
  const end = /\. (?=[A-Z`])/.exec(text)
  return end === null ? [text, undefined] : [text.slice(0, end.index), text.slice(end.index + 2)]
}

/** What to do about a failed request, if its message does not say so. The others resolve themselves. */
const REQUEST_REMEDIES: Readonly<Partial<Record<LockRequestError['failure'], string>>> = {
  unauthenticated: 'Check where the token or the certificate comes from, and whether it has expired.',
  unreachable: 'Check whether the server of the lease runs, and its address.',
}

function remedyOf(err: unknown): string | undefined {
  if (err instanceof LockRequestError) return REQUEST_REMEDIES[err.failure]
  const remedy = err instanceof TenureError ? REMEDIES[err.code] : undefined
  return remedy?.startsWith('Nothing') === true ? undefined : remedy
}

/** The cause of the cause, if the text does not have it. */
function deeper(err: unknown, text: string): string {
  const cause = err instanceof Error ? err.cause : undefined
  if (cause === undefined) return ''
  const more = textOf(cause)
  return text.includes(more) ? '' : `: ${more}`
}

/** Where an error of the program comes from. */
function placeOf(err: unknown): string {
  if (!(err instanceof Error)) return ''
  const frames = String(err.stack).split('\n')
  const frame = frames.find((line) => /^\s+at /.test(line) && !/node:|node_modules/.test(line))
  const place = /\(?((?:file:\/\/)?[^\s()]+:\d+:\d+)\)?$/.exec(String(frame))?.[1]
  return place === undefined ? '' : `, at ${place.replace(/^file:\/\//, '')}`
}

/** Texts of others may have line breaks, and sequences that a terminal obeys. */
function oneLine(text: string): string {
  return text.replaceAll(/\p{Cc}+/gu, ' ')
}
