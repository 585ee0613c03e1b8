import ts from 'typescript-api'
import { exitCodeOf } from 'tenure'
import { REMEDIES } from '../../../packages/tenure/src/remedies.ts'
import { type Declarations, docOf, type EntryPoint, type Exported, table } from './declarations.ts'

/** An error class that users can meet. */
interface ErrorClass {
  readonly name: string
  readonly code: string
  readonly specifier: string
  readonly doc: string
}

/** Where a remedy is explained. */
const MORE: Readonly<Record<string, string>> = {
  WEDGED: ' See [a stuck drain](../how-to/debug-a-stuck-drain.md).',
}

/** Every exported subclass of `TenureError`, with the entry point that users import it from. */
function errorClasses(declarations: Declarations): readonly ErrorClass[] {
  const found = new Map<ts.Symbol, ErrorClass>()
  for (const entry of importOrder(declarations)) {
    for (const one of declarations.exportsOf(entry)) {
      const code = codeOf(one, declarations.checker)
      if (code === undefined || found.has(one.symbol)) continue
      const doc = docOf(one.symbol, declarations.checker)
      found.set(one.symbol, { name: one.name, code, specifier: entry.specifier, doc })
    }
  }
  return [...found.values()].toSorted((a, b) => a.code.localeCompare(b.code))
}

/** `tenure` first, where most users import errors from, and internal entry points last. */
function importOrder({ all }: Declarations): readonly EntryPoint[] {
  const rank = ({ specifier }: EntryPoint) => (specifier === 'tenure' ? 0 : specifier.endsWith('/internal') ? 2 : 1)
  return all.toSorted((a, b) => rank(a) - rank(b))
}

function codeOf({ kind, symbol }: Exported, checker: ts.TypeChecker): string | undefined {
  if (kind !== 'class') return undefined
  const type = checker.getDeclaredTypeOfSymbol(symbol)
  const isError = ['name', 'stack', 'toJSON'].every((name) => type.getProperty(name) !== undefined)
  const code = type.getProperty('code')
  const codeType = isError && code !== undefined ? checker.getTypeOfSymbol(code) : undefined
  return codeType?.isStringLiteral() ? codeType.value : undefined
}

/** The page of all errors. @throws when an error has no remedy, or a remedy no error. */
export async function errorsPage(declarations: Declarations): Promise<string> {
  const classes = errorClasses(declarations)
  const codes = new Set(classes.map(({ code }) => code))
  const missing = [...codes].filter((code) => REMEDIES[code] === undefined)
  const stale = Object.keys(REMEDIES).filter((code) => !codes.has(code))
  if (missing.length + stale.length > 0) {
    throw new Error(
      `remedies.ts: no remedy for ${missing.join(', ') || 'none'}; no error for ${stale.join(', ') || 'none'}`,
    )
  }
  const rows = await Promise.all(
    classes.map(async (one) => [
      `\`${one.code}\``,
      `\`${one.name}\``,
      `\`${one.specifier}\``,
      String(await exitCodeFor(one)),
      one.doc,
      `${REMEDIES[one.code] ?? ''}${MORE[one.code] ?? ''}`,
    ]),
  )
  const intro =
    'Every error of Tenure is a `TenureError` with a stable `code`. The exit code is that of a process which does not catch the error.'
  return `# Errors\n\n${intro}\n\n${table(['code', 'class', 'import', 'exit code', 'meaning', 'remedy'], rows)}\n`
}

async function exitCodeFor({ name, specifier }: ErrorClass): Promise<number> {
  const module: Readonly<Record<string, { readonly prototype: object }>> = await import(specifier)
  const { prototype } = module[name] ?? Error
  return exitCodeOf(Object.create(prototype))
}
