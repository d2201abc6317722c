# Figures by Octave's package queueing (1.2.7), in double precision, as vectors. Run: octave --quiet queueing.m [FOLDER]
# Each function is held against an invariant first and not used where it fails:
#   qsmg1 gives p0 = exp(-rho) for M/G/1 (right: 1 - rho); its means are right and used, its p0 is not.
#   qsmmmk solves a linear system with cancellation: small probabilities have an absolute error, 1.7e-9 of a p0 of 2e-8
#   (the exact sum by mpmath says so): p0 is used where it is not small.
1;
pkg load queueing

function refuse(ok, what)
  if !ok
    error("the oracle is wrong: %s", what);
  end
end

function ok = near(a, b)
  ok = all(abs(a - b) <= 1e-12 * max(abs(a), abs(b)));
end

function point(file, model, given, source, figures)
  fprintf(file, "[[point]]\nmodel = \"%s\"\nsource = \"queueing 1.2.7, %s\"\ngiven = { ", model, source);
  for i = 1:2:numel(given)
    if i > 1, fprintf(file, ", "); end
    fprintf(file, "%s = \"%s\"", given{i}, given{i + 1});
  end
  fprintf(file, " }\n[point.figures]\n");
  for i = 1:2:numel(figures)
    text = sprintf("%.17g", figures{i + 1});
    if !any(text == ".") && !any(text == "e"), text = [text ".0"]; end
    fprintf(file, "\"%s\" = %s\n", figures{i}, text);
  end
  fprintf(file, "\n");
end

function text = number(x)
  text = sprintf("%.15g", x);
end

function text = list(x)
  text = strjoin(arrayfun(@number, x, "UniformOutput", false), ", ");
end

function x = ifelse(condition, one, other)
  if condition, x = one; else, x = other; end
end

arguments = argv();
folder = "../tests/vectors";
if numel(arguments) > 0, folder = arguments{end}; end
file = fopen(fullfile(folder, "octave.toml"), "w");
refuse(file >= 0, "its folder");
fprintf(file, "# Made by crates/model/oracle/queueing.m; see the README there. Not edited by hand.\n");
fprintf(file, "made = \"Octave, package queueing, doubles\"\n\n");

for x = [8000 10000; 0.3 1; 0.99 1]'
  l = x(1); m = x(2);
  [U R Q X p0] = qsmm1(l, m);
  refuse(near(Q, X * R), "Little's law, qsmm1");
  point(file, "mm1", {"lambda", number(l), "mu", number(m)}, "qsmm1", ...
        {"utilization", U, "response.mean", R, "number.mean", Q, "throughput", X, "idle", p0});
end
for x = [8 10 5; 100 1 4; 9 10 50]'
  [U R Q X p0 pK] = qsmm1k(x(1), x(2), x(3));
  refuse(near(Q, X * R) && near(X, x(1) * (1 - pK)), "Little's law and flow, qsmm1k");
  point(file, "mm1k", {"lambda", number(x(1)), "mu", number(x(2)), "capacity", number(x(3))}, "qsmm1k", ...
        {"utilization", U, "response.mean", R, "number.mean", Q, "throughput", X, "idle", p0, "loss", pK});
end
for x = [8 5 2; 1.5 1 3; 95 1 100]'
  [U R Q X p0 pm] = qsmmm(x(1), x(2), x(3));
  refuse(near(Q, X * R), "Little's law, qsmmm");
  refuse(near(pm, erlangc(x(1) / x(2), x(3))), "qsmmm against erlangc");
  point(file, "mmc", {"lambda", number(x(1)), "mu", number(x(2)), "servers", number(x(3))}, "qsmmm", ...
        {"utilization", U, "response.mean", R, "number.mean", Q, "throughput", X, "idle", p0, "wait.probability", pm});
end
for x = [8 5 2 10; 20 5 4 4; 16 1 16 64]'
  [U R Q X p0 pK] = qsmmmk(x(1), x(2), x(3), x(4));
  refuse(near(Q, X * R) && near(X, x(1) * (1 - pK)), "Little's law and flow, qsmmmk");
  point(file, "mmck", {"lambda", number(x(1)), "mu", number(x(2)), "servers", number(x(3)), "capacity", number(x(4))}, ...
        "qsmmmk", [{"utilization", U, "response.mean", R, "number.mean", Q, "throughput", X, "loss", pK}, ...
                   ifelse(p0 > 1e-3, {"idle", p0}, {})]);
end
for x = [8 10; 30 1; 0.01 1]'
  [U R Q X p0] = qsmminf(x(1), x(2));
  point(file, "mminf", {"lambda", number(x(1)), "mu", number(x(2))}, "qsmminf", ...
        {"number.mean", Q, "response.mean", R, "idle", p0});
end
for x = [1 1; 8 10; 100 120]'
  point(file, "erlang-b", {"load", number(x(1)), "servers", number(x(2))}, "erlangb", {"loss", erlangb(x(1), x(2))});
end
for x = [0.8 1 2; 0.5 2 1.25; 0.99 1 1.01]'  # cv2 - 1 through the second moment: erlang(k) has 1 + 1/k
  l = 0.6; k = round(1 / (x(3) - 1));
  mean = x(1); second = mean ^ 2 * (1 + 1 / k);
  [U R Q X p0] = qsmg1(l, mean, second);
  refuse(near(Q, X * R), "Little's law, qsmg1");
  if near(p0, 1 - U), printf("qsmg1: p0 has been mended\n"); end
  point(file, "mg1", {"lambda", number(l), "service", sprintf("erlang(%d, %s)", k, number(mean))}, "qsmg1 (means)", ...
        {"utilization", U, "response.mean", R, "number.mean", Q});
end

# Transient: matrix exponential of the generator
for x = {{8, 10, 10, 0, 0.1}, {1, 1, 5, 2, 3}, {12, 10, 20, 20, 0.5}}
  [l m K start t] = x{1}{:};
  generator = ctmcbd(l * ones(1, K), m * ones(1, K));
  p = ctmc(generator, t, double((0:K) == start));
  refuse(near(sum(p), 1), "probabilities, ctmc");
  point(file, "mm1-transient", {"lambda", number(l), "mu", number(m), "capacity", number(K), "start", number(start), ...
        "time", number(t)}, "ctmc", {"number.mean", p * (0:K)', "idle", p(1), "full", p(end)});
end
# Finite source, by the chain
for x = {{0.1, 1, 1, 10}, {0.5, 1, 2, 16}, {0.02, 1, 3, 40}}
  [l m c N] = x{1}{:};
  p = ctmc(ctmcbd(l * (N:-1:1), m * min(1:N, c)));
  Q = p * (0:N)'; X = l * (N - Q);
  refuse(near(X, m * (p * min(0:N, c)')), "flow, finite source");
  point(file, "finite-source", {"lambda", number(l), "mu", number(m), "servers", number(c), "population", number(N)}, ...
        "ctmc", {"number.mean", Q, "throughput", X, "idle", p(1), "response.mean", Q / X, "utilization", X / m / c});
end

# Open network
P = [0 0.5 0.2; 0.1 0 0.6; 0.3 0 0]; arrivals = [100 0 50]; mus = [250 90 30]; servers = [1 2 8];
V = qnosvisits(P, arrivals);
[U R Q X] = qnos(sum(arrivals), 1 ./ mus, V, servers);
refuse(near(Q, X .* R), "Little's law, qnos");
figures = {"number.mean", sum(Q), "response.mean", sum(Q) / sum(arrivals)};
for i = 1:3
  place = sprintf("station.%d.", i);
  figures = [figures {[place "utilization"], U(i), [place "number.mean"], Q(i), [place "throughput"], X(i), ...
             [place "response.mean"], R(i)}];
end
routes = strjoin({list(P(1, :)), list(P(2, :)), list(P(3, :))}, "; ");
point(file, "jackson", {"arrivals", list(arrivals), "mus", list(mus), "servers", list(servers), "routing", routes}, ...
      "qnos", figures);

# Closed networks
for x = {{[0.2 0.3 0.1], 10, 1}, {[0.005 0.03], 1, 0}, {[0.25 0.25 0.25], 40, 2}}
  [D N Z] = x{1}{:};
  [U R Q X] = qncsmva(N, D, ones(size(D)), ones(size(D)), Z);
  refuse(near(sum(Q) + Z * X(1), N), "nobody is lost, qncsmva");
  point(file, "mva", {"demands", list(D), "customers", number(N), "think", number(Z)}, "qncsmva", ...
        {"throughput", X(1), "response.mean", sum(R), "station.1.number.mean", Q(1), "station.2.utilization", U(2)});
  [Xl Xu Rl Ru] = qncsaba(N, D, ones(size(D)), ones(size(D)), Z);
  [Bl Bu Sl Su] = qncsbsb(N, D, ones(size(D)), ones(size(D)), Z);
  slack = 1 + 1e-12;
  refuse(Xl <= X(1) * slack && X(1) <= Xu * slack && Rl <= sum(R) * slack && sum(R) <= Ru * slack, "asymptotic bounds");
  refuse(Bl <= X(1) * slack && X(1) <= Bu * slack && Sl <= sum(R) * slack && sum(R) <= Su * slack, "balanced bounds");
  figures = {"throughput.lower", Xl, "throughput.upper", Xu, "response.lower", Rl, "response.upper", Ru};
  point(file, "bounds", {"demands", list(D), "customers", number(N), "think", number(Z)}, "qncsaba", figures);
  point(file, "bounds", {"demands", list(D), "customers", number(N), "think", number(Z)}, "qncsbsb", ...
        {"throughput.balanced.lower", Bl, "throughput.balanced.upper", Bu, ...
         "response.balanced.lower", Sl, "response.balanced.upper", Su});
end
for x = {{[0.1 0.4], [1 2], [1 4], 10, 1}, {[1 1], [1 0.5], [2 3], 12, 0}, {[0.5 0.2], [1 1], [2 1], 8, 0.5}}
  [S V c N Z] = x{1}{:};
  [U R Q X] = qncsmva(N, S, V, c, Z);
  refuse(near(sum(Q) + Z * X(1) / V(1), N), "nobody is lost, qncsmva of several servers");
  point(file, "mva-multiserver", {"services", list(S), "visits", list(V), "servers", list(c), "customers", number(N), ...
        "think", number(Z)}, "qncsmva", {"throughput", X(1) / V(1), "station.1.number.mean", Q(1), ...
        "station.2.number.mean", Q(2), "station.2.utilization", U(2)});
end
for x = {{[3 4], [0.1 0.2; 0.3 0.05], [1 0]}, {[5 5 8], [0.02 0.05; 0.04 0.01; 0.01 0.03], [0.5 1 0]}, {[1 1], [1 2; 2 1], [0 0]}}
  [N D Z] = x{1}{:};
  [U R Q X] = qncmmva(N, D, ones(size(D)), ones(1, columns(D)), Z);
  refuse(near(sum(Q, 2)' + Z .* X(:, 1)', N), "nobody is lost, qncmmva");
  demands = strjoin(arrayfun(@(i) list(D(i, :)), 1:rows(D), "UniformOutput", false), "; ");
  point(file, "mva-multiclass", {"demands", demands, "customers", list(N), "thinks", list(Z)}, "qncmmva", ...
        {"class.1.throughput", X(1, 1), "class.1.response.mean", sum(R(1, :)), "class.2.throughput", X(2, 1), ...
         "station.1.utilization", sum(U(:, 1)), "station.2.utilization", sum(U(:, 2))});
end
fclose(file);
printf("octave: done\n");
