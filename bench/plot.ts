import { axisX, axisY, line, plot, selectLast, text } from '@observablehq/plot'
import { JSDOM } from 'jsdom'

/** Samples of one kind. */
export interface Series {
  readonly name: string
  readonly samples: readonly number[]
}

/** Draws the cumulative distribution of each series as a curve, as SVG. */
export function plotDurations(title: string, series: readonly Series[]): string {
  const { document } = new JSDOM().window
  const points = series.flatMap(({ name, samples }) =>
    samples.toSorted((a, b) => a - b).map((ms, index) => ({ name, ms, share: (index + 1) / samples.length })),
  )
  const figure = plot({
    document,
    width: 900,
    height: 420,
    marginLeft: 50,
    marginRight: 150,
    marginTop: 40,
    x: { type: 'log', grid: true },
    y: { grid: true, percent: true },
    color: { domain: series.map(({ name }) => name) },
    marks: [
      axisX({ label: 'ms →', ticks: 8, tickFormat: (ms: number) => `${ms}` }),
      axisY({ label: '↑ % of the handovers' }),
      line(points, { x: 'ms', y: 'share', stroke: 'name', curve: 'step-after' }),
      text(
        points,
        selectLast({
          x: 'ms',
          y: 'share',
          z: 'name',
          text: 'name',
          fill: 'name',
          textAnchor: 'start',
          dx: 4,
          rotate: -45,
        }),
      ),
      text([title], { frameAnchor: 'top-left', dy: -30, fontSize: 14 }),
    ],
  })
  return figure.outerHTML
}
