"""Value and gradient of the programs of users.py, as an expert writes them by hand."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from scipy.special import digamma, gammaln
from users import Dense, Rates, Spring, sigmoid


def autoencoder(params, x):
    w = params["w"]
    hidden = sigmoid(x @ w + params["b"])
    r = hidden @ w.T + params["c"] - x
    out_bar = 2.0 * r / x.size
    z_bar = (out_bar @ w) * hidden * (1.0 - hidden)
    w_bar = out_bar.T @ hidden + x.T @ z_bar
    return np.mean(r**2), {"w": w_bar, "b": np.sum(z_bar, axis=0), "c": np.sum(out_bar, axis=0)}


def residual_net(layer, x, y):
    h = x
    saved = []
    for _ in range(3):
        t = np.tanh(h @ layer.weight + layer.bias)
        saved.append((h, t))
        h = h + 0.1 * t
    r = h - y
    h_bar = 2.0 * r
    weight_bar, bias_bar = np.zeros_like(layer.weight), np.zeros_like(layer.bias)
    for h, t in reversed(saved):
        z_bar = 0.1 * h_bar * (1.0 - t**2)
        weight_bar += h.T @ z_bar
        bias_bar += np.sum(z_bar, axis=0)
        h_bar += z_bar @ layer.weight.T
    return np.sum(r**2), Dense(weight_bar, bias_bar)


def skip_gram(words, contexts, center, positive, negative):
    v, c, n = words[center], contexts[positive], contexts[negative]
    good = sigmoid(np.sum(v * c, axis=1))
    bad = sigmoid(-np.einsum("nd,nkd->nk", v, n))
    good_bar = (good - 1.0)[:, None]
    bad_bar = 1.0 - bad
    words_bar, contexts_bar = np.zeros_like(words), np.zeros_like(contexts)
    np.add.at(words_bar, center, good_bar * c + np.einsum("nk,nkd->nd", bad_bar, n))
    np.add.at(contexts_bar, positive, good_bar * v)
    np.add.at(contexts_bar, negative, bad_bar[:, :, None] * v[:, None, :])
    return -np.sum(np.log(good)) - np.sum(np.log(bad)), (words_bar, contexts_bar)


def spring_energy(spring, x, v, steps):
    k, c = spring.stiffness, spring.damping
    saved = []
    for _ in range(steps):
        saved.append((x, v))
        v = v + 0.05 * (-k * x - c * v)
        x = x + 0.05 * v
    value = 0.5 * v**2 + 0.5 * k * x**2
    x_bar, v_bar, k_bar, c_bar = k * x, v, 0.5 * x**2, 0.0
    for x, v in reversed(saved):
        v_bar += 0.05 * x_bar
        f_bar = 0.05 * v_bar
        k_bar -= f_bar * x
        c_bar -= f_bar * v
        x_bar -= f_bar * k
        v_bar -= f_bar * c
    return value, (Spring(k_bar, c_bar), x_bar, v_bar)


def lotka_volterra(p, state, data):
    def rates(state):
        prey, predators = state
        both = prey * predators
        return np.array([p[0] * prey - p[1] * both, p[2] * both - predators])

    def rates_bar(state, bar):
        prey, predators = state
        both_bar = p[2] * bar[1] - p[1] * bar[0]
        p_bar[0] += bar[0] * prey
        p_bar[1] -= bar[0] * prey * predators
        p_bar[2] += bar[1] * prey * predators
        return np.array([p[0] * bar[0] + both_bar * predators, both_bar * prey - bar[1]])

    loss = 0.0
    saved = []
    for observed in data:
        middle = state + 0.05 * rates(state)
        saved.append((state, middle))
        state = state + 0.1 * rates(middle)
        loss += np.sum((state - observed) ** 2)
    p_bar, state_bar = np.zeros_like(p), np.zeros_like(state)
    for observed in data[::-1]:
        state_bar += 2.0 * (state - observed)
        state, middle = saved.pop()
        middle_bar = rates_bar(middle, 0.1 * state_bar)
        state_bar += middle_bar + rates_bar(state, 0.05 * middle_bar)
    return loss, (p_bar, state_bar)


def lqr_cost(gain, a, b, x, steps):
    cost = 0.0
    saved = []
    for _ in range(steps):
        u = -gain @ x
        saved.append((x, u))
        cost += x @ x + 0.1 * (u @ u)
        x = a @ x + b @ u
    x_bar = 20.0 * x
    gain_bar = np.zeros_like(gain)
    for x_old, u in reversed(saved):
        u_bar = b.T @ x_bar + 0.2 * u
        gain_bar -= np.outer(u_bar, x_old)
        x_bar = a.T @ x_bar + 2.0 * x_old - gain.T @ u_bar
    return cost + 10.0 * (x @ x), gain_bar


def pid_tracking(gains, target):
    p, i, d = gains["p"], gains["i"], gains["d"]
    y, integral, last, cost = 0.0, 0.0, 0.0, 0.0
    saved = []
    for goal in target:
        error = goal - y
        integral += 0.1 * error
        u = p * error + i * integral + d * (error - last)
        saved.append((error, last, integral, u))
        y = y + 0.1 * (u - y)
        last = error
        cost += error**2 + 0.01 * u**2
    y_bar, integral_bar, last_bar, p_bar, i_bar, d_bar = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for error, last, integral, u in reversed(saved):
        u_bar = 0.1 * y_bar + 0.02 * u
        p_bar += u_bar * error
        i_bar += u_bar * integral
        d_bar += u_bar * (error - last)
        integral_bar += u_bar * i
        error_bar = 2.0 * error + last_bar + u_bar * (p + d) + 0.1 * integral_bar
        last_bar = -u_bar * d
        y_bar = 0.9 * y_bar - error_bar
    return cost, {"p": p_bar, "i": i_bar, "d": d_bar}


def bilateral(img, sigma):
    h, w = img.shape
    center = img[1:-1, 1:-1]
    total, weights = np.zeros((h - 2, w - 2)), np.zeros((h - 2, w - 2))
    for i in range(3):
        for j in range(3):
            shifted = img[i : i + h - 2, j : j + w - 2]
            weight = np.exp(-((shifted - center) ** 2) / (2.0 * sigma**2))
            total += weight * shifted
            weights += weight
    out = total / weights
    total_bar = 2.0 * out / weights
    img_bar, sigma_bar = np.zeros_like(img), 0.0
    for i in range(3):
        for j in range(3):
            shifted = img[i : i + h - 2, j : j + w - 2]
            d = shifted - center
            weight = np.exp(-(d**2) / (2.0 * sigma**2))
            power_bar = total_bar * (shifted - out) * weight
            d_bar = -power_bar * d / sigma**2
            img_bar[i : i + h - 2, j : j + w - 2] += total_bar * weight + d_bar
            img_bar[1:-1, 1:-1] -= d_bar
            sigma_bar += np.sum(power_bar * d**2) / sigma**3
    return np.sum(out**2), (img_bar, sigma_bar)


def separable_blur(img, k):
    rows, out = np.zeros_like(img), np.zeros_like(img)
    rows[1:-1] = k[0] * img[:-2] + k[1] * img[1:-1] + k[2] * img[2:]
    out[:, 1:-1] = k[0] * rows[:, :-2] + k[1] * rows[:, 1:-1] + k[2] * rows[:, 2:]
    r = img - out
    img_bar = 2.0 * r / img.size
    out_bar, rows_bar, k_bar = -img_bar[:, 1:-1], np.zeros_like(img), np.zeros_like(k)
    for i in range(3):
        part = slice(i, i + rows.shape[1] - 2)
        rows_bar[:, part] += k[i] * out_bar
        k_bar[i] += np.sum(out_bar * rows[:, part])
    for i in range(3):
        part = slice(i, i + len(img) - 2)
        img_bar[part] += k[i] * rows_bar[1:-1]
        k_bar[i] += np.sum(rows_bar[1:-1] * img[part])
    return np.mean(r**2), (img_bar, k_bar)


def holt_winters(alpha, beta, gamma, y, period):
    season = np.zeros(len(y) + period)
    errors = np.zeros(len(y))
    level, trend = y[0], 0.0
    for t in range(len(y)):
        errors[t] = error = y[t] - (level + trend + season[t])
        level = level + trend + alpha * error
        trend = trend + beta * error
        season[t + period] = season[t] + gamma * error
    alpha_bar, beta_bar, gamma_bar, level_bar, trend_bar = 0.0, 0.0, 0.0, 0.0, 0.0
    season_bar = np.zeros_like(season)
    for t in reversed(range(len(y))):
        error, s_bar = errors[t], season_bar[t + period]
        gamma_bar += s_bar * error
        beta_bar += trend_bar * error
        alpha_bar += level_bar * error
        error_bar = 2.0 * error / len(y) + gamma * s_bar + beta * trend_bar + alpha * level_bar
        season_bar[t] += s_bar - error_bar
        trend_bar += level_bar - error_bar
        level_bar -= error_bar
    return errors @ errors / len(y), (alpha_bar, beta_bar, gamma_bar)


def weibull(theta, t, observed):
    shape, scale = np.exp(theta)
    z = t / scale
    log_z, power = np.log(z), z**shape
    value = -np.sum(observed * (np.log(shape / scale) + (shape - 1.0) * log_z) - power)
    shape_bar = np.sum(power * log_z - observed * (1.0 / shape + log_z))
    scale_bar = np.sum(observed - power) * shape / scale
    return value, np.array([shape_bar * shape, scale_bar * scale])


def negative_binomial(beta, log_r, x, y):
    mu, r = np.exp(x @ beta), np.exp(log_r)
    log_p = gammaln(y + r) - gammaln(r) - gammaln(y + 1.0)
    log_p += r * np.log(r / (r + mu)) + y * np.log(mu / (r + mu))
    beta_bar = x.T @ (r * (mu - y) / (r + mu))
    r_bar = digamma(y + r) - digamma(r) + np.log(r / (r + mu)) + (mu - y) / (r + mu)
    return -np.sum(log_p), (beta_bar, -np.sum(r_bar) * r)


def gp_matern(log_theta, x, y):
    amplitude, length, noise = np.exp(log_theta)
    distance = np.sqrt(np.sum((x[:, None, :] - x[None, :, :]) ** 2, axis=2))
    scaled = np.sqrt(3.0) * distance / length
    e = np.exp(-scaled)
    m = (1.0 + scaled) * e
    k = amplitude * m + noise * np.eye(len(x))
    low = np.linalg.cholesky(k)
    z = np.linalg.solve(low, y)
    inverse = np.linalg.inv(k)
    alpha = inverse @ y
    k_bar = 0.5 * (inverse - np.outer(alpha, alpha))
    theta_bar = np.array([np.sum(k_bar * m), 0.0, np.trace(k_bar)])
    theta_bar[1] = amplitude * np.sum(k_bar * scaled**2 * e) / length
    value = 0.5 * np.sum(z**2) + np.sum(np.log(np.diag(low)))
    return value, theta_bar * np.exp(log_theta)


def fuzzy_clusters(centers, x):
    d = x[:, None, :] - centers
    d2 = np.sum(d**2, axis=2) + 1e-6
    inverse = 1.0 / d2
    total = np.sum(inverse, axis=1, keepdims=True)
    member = inverse / total
    member_bar = 2.0 * member * d2
    inverse_bar = (member_bar - np.sum(member_bar * member, axis=1, keepdims=True)) / total
    d2_bar = member**2 - inverse_bar * inverse**2
    return np.sum(member**2 * d2), -2.0 * np.einsum("nk,nkd->kd", d2_bar, d)


def kernel_regression(bandwidth, x, y):
    loss, bandwidth_bar = 0.0, 0.0
    for i in range(len(x)):
        d2 = np.sum((x - x[i]) ** 2, axis=1)
        w = np.exp(-d2 / (2.0 * bandwidth**2))
        w[i] = 0.0
        total = np.sum(w)
        fit = w @ y / total
        r = y[i] - fit
        loss += r**2
        w_bar = -2.0 * r * (y - fit) / total
        bandwidth_bar += (w_bar * w) @ d2 / bandwidth**3
    return loss / len(x), bandwidth_bar / len(x)


def vasicek_bond(model, z):
    n = z.shape[1]
    dt = 1.0 / n
    rate, integral = model.start * np.ones(len(z)), np.zeros(len(z))
    saved = []
    for k in range(n):
        saved.append(rate)
        integral += rate * dt
        drift = model.speed * (model.mean - rate) * dt
        rate = rate + drift + model.volatility * np.sqrt(dt) * z[:, k]
    e = np.exp(-integral)
    integral_bar = -e / len(z)
    rate_bar = np.zeros_like(rate)
    speed_bar, mean_bar, volatility_bar = 0.0, 0.0, 0.0
    for k in reversed(range(n)):
        volatility_bar += np.sqrt(dt) * (rate_bar @ z[:, k])
        speed_bar += dt * (rate_bar @ (model.mean - saved.pop()))
        mean_bar += dt * model.speed * np.sum(rate_bar)
        rate_bar += dt * (integral_bar - model.speed * rate_bar)
    return np.mean(e), Rates(np.sum(rate_bar), speed_bar, mean_bar, volatility_bar)


def heston_call(p, z1, z2):
    v0, kappa, theta, xi = p
    n = z1.shape[1]
    dt = 1.0 / n
    log_s, v = np.zeros(len(z1)), np.full(len(z1), v0)
    saved = []
    for k in range(n):
        root = np.sqrt(np.maximum(v, 1e-8) * dt)
        saved.append((v, root))
        log_s = log_s - 0.5 * v * dt + root * z1[:, k]
        v = v + kappa * (theta - v) * dt + xi * root * z2[:, k]
    s = np.exp(log_s)
    log_s_bar = np.where(s > 1.0, s, 0.0) / len(s)
    v_bar = np.zeros_like(v)
    kappa_bar, theta_bar, xi_bar = 0.0, 0.0, 0.0
    for k in reversed(range(n)):
        v, root = saved.pop()
        kappa_bar += dt * (v_bar @ (theta - v))
        theta_bar += dt * kappa * np.sum(v_bar)
        xi_bar += v_bar @ (root * z2[:, k])
        root_bar = log_s_bar * z1[:, k] + xi * v_bar * z2[:, k]
        v_bar = (1.0 - kappa * dt) * v_bar - 0.5 * dt * log_s_bar
        v_bar += np.where(v > 1e-8, 0.5 * dt * root_bar / root, 0.0)
    p_bar = np.array([np.sum(v_bar), kappa_bar, theta_bar, xi_bar])
    return np.mean(np.maximum(s - 1.0, 0.0)), p_bar


def svi_fit(p, k, market):
    a, b, rho, m, sigma = p
    d = k - m
    root = np.sqrt(d**2 + sigma**2)
    shape = rho * d + root
    r = a + b * shape - market
    w_bar = 2.0 * r / len(k)
    m_bar = -b * np.sum(w_bar * (rho + d / root))
    rest = (b * (w_bar @ d), m_bar, b * sigma * np.sum(w_bar / root))
    return np.mean(r**2), np.array([np.sum(w_bar), w_bar @ shape, *rest])
