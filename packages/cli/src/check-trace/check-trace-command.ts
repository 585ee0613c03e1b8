import type { Command } from 'commander'
import { addCommand } from '../add-command.ts'
import { countOf } from '../count-of.ts'
import type { Invocation, Terminal } from '../terminal.ts'
import { checkFiles, type TraceReport } from './check-files.ts'
import { type Finding, RULES } from './finding.ts'
import { TraceFile } from './trace-file.ts'

/** How many broken rules are printed. The first one usually causes the others. */
const MOST_PRINTED = 20

interface CheckTraceFlags {
  readonly restored?: boolean
}

/** Adds `tenure check-trace`. */
export function addCheckTrace(program: Command, invocation: Invocation): void {
  addCommand(program, {
    usage: 'check-trace <file...>',
    does: 'check the traces of a fleet against the specification',
    examples: ['tenure check-trace replica-*.jsonl', 'tenure check-trace replica-*.jsonl watch.jsonl'],
  })
    .option('--restored', 'the store of the lease was restored during the traces: check less')
    .action((paths: readonly string[], { restored = false }: CheckTraceFlags) => {
      const files = paths.map((path) => new TraceFile(path))
      const report = checkFiles(files, { mayRestore: restored })
      print(report, files.length, invocation.terminal)
      if (report.findings.length > 0 || report.events === 0) invocation.exitCode = 1
    })
}

function print({ findings, events }: TraceReport, files: number, { out }: Terminal): void {
  for (const finding of findings.slice(0, MOST_PRINTED)) out(`${describeFinding(finding)}\n`)
  const more = findings.length - MOST_PRINTED
  if (more > 0) out(`and ${more} more\n`)
  const rules = [...new Set(findings.map(({ rule }) => rule))]
  for (const rule of rules) out(`rule ${rule}: ${RULES[rule]}\n`)
  const what = `${countOf(files, 'file')}, ${countOf(events, 'step')}`
  if (findings.length === 0 && events === 0) return out(`${what}: nothing to check\n`)
  const verdict = findings.length === 0 ? 'a behaviour of the specification' : countOf(findings.length, 'violation')
  out(`${what}: ${verdict}\n`)
}

/** A broken rule in one line. */
export function describeFinding({ rule, file, line, message }: Finding): string {
  return `${file}:${line}: ${rule}: ${message}`
}
