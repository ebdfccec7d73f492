# Rscript drivers.R compile SOURCE FOLDER       compile one C++ file of TMB's; seconds go to FOLDER/NAME.seconds
# Rscript drivers.R run DRIVER FOLDER OUT       run an example's own driver up to its sdreport, then time and check it
# Rscript drivers.R mixed NAME FOLDER OUT       the same for a model of glmmTMB's, which is compiled already
#
# What a driver calls (compile, dyn.load, MakeADFun, nlminb, optim, sdreport) is replaced by functions that time it.
# Times are CPU seconds. Arrays of the model go to files of float64 in OUT, all numbers to OUT/results.json.
suppressPackageStartupMessages(library(TMB))
words <- commandArgs(TRUE)
folder <- normalizePath(words[3])
if (length(words) > 3) out <- normalizePath(words[4])
seconds <- function(call) { t <- system.time(call); sum(t) - t[["elapsed"]] } # of this process and of its children

if (words[1] == "compile") {
  name <- sub("\\.cpp$", "", basename(words[2]))
  file.copy(list.files(dirname(words[2]), "pp$", full.names = TRUE), folder, overwrite = TRUE)
  setwd(folder)
  wall <- system.time(spent <- seconds(compile(paste0(name, ".cpp"))))[["elapsed"]]
  writeLines(sprintf("%.2f %.2f", spent, wall), paste0(name, ".seconds"))
  quit()
}

pdf(NULL)
made <- fitted <- reported <- NULL
compile <- function(...) NULL
dyn.load <- function(x, ...) base::dyn.load(file.path(folder, basename(x)))
MakeADFun <- function(...) {
  spent <- seconds(object <- TMB::MakeADFun(..., silent = TRUE))
  made <<- list(object = object, seconds = spent)
  object
}
fit_by <- function(optimizer, ...) {
  spent <- seconds(result <- optimizer(...))
  given <- list(...)
  fitted <<- list(seconds = spent, again = function() optimizer(...), lower = given$lower, upper = given$upper)
  result
}
nlminb <- function(...) fit_by(stats::nlminb, ...)
optim <- function(...) fit_by(stats::optim, ...)
sdreport <- function(...) {
  spent <- seconds(result <- TMB::sdreport(...))
  reported <<- list(seconds = spent, covariance = result$cov.fixed)
  stop("reported")
}

mixed_models <- list(
  sleepstudy = function() glmmTMB::glmmTMB(Reaction ~ Days + (Days | Subject), lme4::sleepstudy),
  cbpp = function() glmmTMB::glmmTMB(cbind(incidence, size - incidence) ~ period + (1 | herd), lme4::cbpp, binomial)
)
if (words[1] == "mixed") {
  suppressWarnings(mixed_models[[words[2]]]()) # loads what is loaded once
  whole <- seconds(model <- suppressWarnings(mixed_models[[words[2]]]()))
  object <- model$obj
  start <- unlist(object$env$parameters)[-object$env$random]
  made <- list(object = object, seconds = whole)
  nlminb(start, object$fn, object$gr)
  made$seconds <- max(whole - fitted$seconds, 0)
  try(sdreport(object), silent = TRUE)
} else {
  setwd(dirname(words[2]))
  said <- tryCatch(source(basename(words[2])), error = conditionMessage)
  if (!identical(said, "reported")) stop(said)
}
object <- made$object
environment_of <- object$env
forget <- function() {
  environment_of$last.par.best <- environment_of$last.par <- environment_of$par
  environment_of$value.best <- Inf
}

# Estimates after further steps of Newton's method, and the Hessian there by fourth-order differences of TMB's gradient
best <- environment_of$last.par.best
free <- returned <- if (length(environment_of$random)) best[-environment_of$random] else best
for (round in 1:3) free <- free - drop(reported$covariance %*% as.vector(object$gr(free)))
step <- 0.02 * sqrt(diag(reported$covariance))
columns <- sapply(seq_along(free), function(k) {
  e <- replace(numeric(length(free)), k, step[k])
  (8 * (object$gr(free + e) - object$gr(free - e)) - object$gr(free + 2 * e) + object$gr(free - 2 * e)) / (12 * step[k])
})
errors <- sqrt(diag(solve((columns + t(columns)) / 2)))
value <- object$fn(free)

# Evaluations at two points in turns, each from the mode at the estimates
points <- list(free + 0.1 * errors, free - 0.1 * errors)
evaluate <- function(count) for (k in seq_len(count)) {
  p <- points[[1 + k %% 2]]
  object$fn(p)
  object$gr(p)
}
at_points <- lapply(points, function(p) c(object$fn(p), object$gr(p)))
count <- 2
slow <- fitted$seconds > 20 # then one fit and one batch must do
while (!slow && seconds(evaluate(count)) < 0.05) count <- 2 * count
evaluation <- min(sapply(seq_len(if (slow) 1 else 5), function(k) seconds(evaluate(count)))) / count
forget()
fit <- if (slow) fitted$seconds else min(fitted$seconds, seconds(fitted$again()))
forget()
start <- environment_of$par
if (length(environment_of$random)) start <- start[-environment_of$random]
at_start <- c(object$fn(start), object$gr(start))

save_arrays <- function(given, prefix) for (name in names(given)) {
  each <- given[[name]]
  if (is.list(each)) { save_arrays(each, paste0(prefix, name, ".")); next }
  if (is(each, "sparseMatrix")) each <- as.matrix(each)
  if (is.factor(each)) each <- unclass(each) - 1
  if (!is.numeric(each)) next
  shapes[[paste0(prefix, name)]] <<- if (is.null(dim(each))) length(each) else dim(each)
  writeBin(as.double(each), file.path(out, paste0(prefix, name)))
}
shapes <- list()
save_arrays(environment_of$data, "data.")
save_arrays(environment_of$parameters, "start.")
random <- unique(names(environment_of$par[environment_of$random]))

list_of <- function(x) sprintf("[%s]", paste(sprintf("%.17g", x), collapse = ", "))
object_of <- function(lists) sprintf("{%s}", paste0('"', names(lists), '": ', sapply(lists, list_of), collapse = ", "))
grouped <- function(x) object_of(split(unname(x), factor(names(start), unique(names(start)))))
bounds <- function(given) if (is.null(given)) "{}" else grouped(pmin(pmax(given + 0 * start, -1e300), 1e300))
writeLines(sprintf(
  '{"shapes": %s, "random": "%s", "estimates": %s, "lower": %s, "upper": %s, "errors": %s, "numbers": %s}',
  object_of(shapes), paste(random, collapse = " "), grouped(free), bounds(fitted$lower), bounds(fitted$upper),
  grouped(errors),
  object_of(list(
    make = made$seconds, first = fitted$seconds, fit = fit, evaluation = evaluation, report = reported$seconds,
    value = value, shift = max(abs(free - returned) / errors), at_start = at_start, above = at_points[[1]], below = at_points[[2]]
  ))
), file.path(out, "results.json"))
