// SPDX-License-Identifier: GPL-2.0-or-later
//
// Zoom in time: the plots of a figure show one range of their common time. page.c embeds this script without its
// comments, and admits it by its hash.
//
// A plot has the times at the edges of its clip path in data-from and data-to, in ns, and the unit of its axis in
// data-unit. Absolute positions along x below .data and .hits move; markers are relative, and keep their shape.
"use strict";
(() => {
	const NS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
	// As in plot.c and plot_svg.c.
	const TIC_WIDTH = 44, LETTER = 7.2;
	// The shortest range is a hundredth of the whole time. A drag that is shorter than DRAG is a click.
	const SHARE = 100, DRAG = 4;
	const BUTTONS = [["Zoom in", "+"], ["Zoom out", "-"], ["Earlier", "ArrowLeft"], ["Later", "ArrowRight"], ["Whole time", "0"]];

	const limit = (x, least, most) => Math.min(Math.max(x, least), most);
	const text = x => String(+x.toPrecision(6));
	function nice(x) {
		const power = 10 ** Math.floor(Math.log10(x));
		return power * [1, 2, 5, 10].find(n => x / power <= n + 1e-9);
	}

	function plotOf(svg) {
		const area = svg.querySelector("clipPath rect"), clip = "url(#" + area.parentNode.id + ")";
		const left = +area.getAttribute("x"), width = +area.getAttribute("width");
		const own = { from: +svg.dataset.from, to: +svg.dataset.to }, unit = svg.dataset.unit, ns = NS[unit];
		const parts = [...svg.querySelectorAll(".data,.hits")];
		const paths = [...svg.querySelectorAll(".data path,.hits path")].map(e => [e, e.getAttribute("d")]);
		const tics = svg.querySelector(".tics"), ownTics = [...tics.childNodes];
		let shown = own;

		const place = time => left + (time - shown.from) / (shown.to - shown.from) * width;
		const moved = d => d.replace(/([MLH])([-\d.]+)/g, (all, verb, x) =>
			verb + place(own.from + (x - left) / width * (own.to - own.from)).toFixed(2));
		const ticLike = name => tics.appendChild(ownTics.find(e => e.nodeName === name).cloneNode());
		function drawTics() {
			const from = shown.from / ns, to = shown.to / ns, step = nice((to - from) / Math.max(1, width / TIC_WIDTH));
			let free = -Infinity;
			tics.replaceChildren();
			for (let k = Math.ceil(from / step - 1e-9); k * step <= to * (1 + 1e-9); k++) {
				const x = place(k * step * ns), half = 0.5 * LETTER * text(k * step).length, grid = ticLike("path");
				grid.setAttribute("d", grid.getAttribute("d").replace(/^M[-\d.]+/, "M" + x.toFixed(1)));
				if (x - half < free) continue;
				const label = ticLike("text");
				label.setAttribute("x", x.toFixed(1));
				label.textContent = text(k * step);
				free = x + half + LETTER;
			}
		}
		return {
			svg, own, unit, ns,
			draw(range) {
				shown = range || own;
				for (const [e, d] of paths) e.setAttribute("d", range ? moved(d) : d);
				for (const e of parts) range ? e.setAttribute("clip-path", clip) : e.removeAttribute("clip-path");
				range ? drawTics() : tics.replaceChildren(...ownTics);
			},
			time: x => shown.from + (x - left) / width * (shown.to - shown.from),
			at(event) {
				const r = svg.getBoundingClientRect();
				return limit((event.clientX - r.left) * svg.viewBox.baseVal.width / r.width, left, left + width);
			},
			mark(from, to) {
				const band = svg.querySelector(".drag") || svg.appendChild(area.cloneNode());
				band.setAttribute("class", "band drag");
				band.setAttribute("x", from);
				band.setAttribute("width", to - from);
			},
			unmark: () => svg.querySelectorAll(".drag").forEach(e => e.remove()),
		};
	}

	function zoomable(figure, plots) {
		const whole = { from: Math.min(...plots.map(p => p.own.from)), to: Math.max(...plots.map(p => p.own.to)) };
		const all = whole.to - whole.from, controls = document.createElement("div"), status = document.createElement("p");
		// A drag in progress has positions: its first one, and the range.
		let shown = whole, drag = null;

		const draw = range => plots.forEach(p => p.draw(range === whole ? null : range));
		function say() {
			const { unit, ns } = plots[0], grain = nice((shown.to - shown.from) / ns / 1000);
			const [from, to] = [shown.from, shown.to].map(time => text(Math.round(time / ns / grain) * grain) + " " + unit);
			status.textContent = shown === whole ?
				`Whole time: ${from} to ${to}. Drag over a plot to zoom; keys: + \u2212 \u2190 \u2192 0.` :
				`Shown: ${from} to ${to}.`;
		}
		function show(from, to) {
			const length = limit(to - from, all / SHARE, all), start = limit((from + to - length) / 2, whole.from, whole.to - length);
			shown = length < all * (1 - 1e-9) ? { from: start, to: start + length } : whole;
			draw(shown);
			say();
		}
		// Extend the range shown by a share of it at both ends.
		function extend(before, after) {
			const length = shown.to - shown.from;
			show(shown.from - before * length, shown.to + after * length);
		}
		function drop() {
			const dropped = drag;
			drag = null;
			plots.forEach(p => p.unmark());
			return dropped;
		}
		const keys = {
			"+": () => extend(-0.25, -0.25), "=": () => extend(-0.25, -0.25), "-": () => extend(0.5, 0.5),
			ArrowLeft: () => extend(0.25, -0.25), ArrowRight: () => extend(-0.25, 0.25),
			"0": () => show(whole.from, whole.to), Escape: () => drop() || show(whole.from, whole.to),
		};

		function listen(plot) {
			const on = (name, act) => plot.svg.addEventListener(name, event => event.isPrimary === false || act(event));
			plot.svg.setAttribute("tabindex", "0");
			on("pointerdown", event => {
				if (event.button) return;
				drag = { first: plot.at(event), from: 0, to: 0 };
				plot.svg.setPointerCapture(event.pointerId);
			});
			on("pointermove", event => {
				if (!drag) return;
				drag.from = Math.min(drag.first, plot.at(event));
				drag.to = Math.max(drag.first, plot.at(event));
				plot.mark(drag.from, drag.to);
			});
			on("pointerup", () => {
				const done = drop();
				if (done && done.to - done.from >= DRAG) show(plot.time(done.from), plot.time(done.to));
			});
			on("pointercancel", drop);
			on("dblclick", keys["0"]);
			on("keydown", event => {
				if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey) return;
				event.preventDefault();
				keys[event.key]();
			});
		}

		plots.forEach(listen);
		for (const [name, key] of BUTTONS) {
			const button = controls.appendChild(document.createElement("button"));
			button.type = "button";
			button.textContent = name;
			button.addEventListener("click", keys[key]);
		}
		controls.className = "zoom";
		controls.setAttribute("role", "group");
		controls.setAttribute("aria-label", "Zoom in time");
		status.setAttribute("aria-live", "polite");
		controls.append(status);
		figure.querySelector(".plots").before(controls);
		say();
		addEventListener("beforeprint", () => draw(whole));
		addEventListener("afterprint", () => draw(shown));
	}

	for (const figure of document.querySelectorAll("figure")) {
		const svgs = [...figure.querySelectorAll("svg[data-from]")];
		if (svgs.length) zoomable(figure, svgs.map(plotOf));
	}
})();
